"""The cases: what is asked for, of whom, and how Howdah is configured for it."""

from pathlib import Path

from bench.http import (
    answers,
    compression,
    function_forms,
    h2load,
    handshakes,
    static_files,
    techempower,
    writing,
    wrk,
)
from bench.http.model import Case, Handler, Route

FAIRNESS_ROUNDS = 5
PUBLISHED = (Path(__file__).resolve().parent / "published.sql").read_text()

PUBLISHED_PEERS = ("node_tcp", "node_unix", "node_unix_cluster2", "axum_pipelined", "axum_pool")
# The peers in the fastest form that we found: see README.md.
TUNED_PEERS = ("node_unix_pipelined", "axum_pipelined_per_core")
PEERS = (*PUBLISHED_PEERS, *TUNED_PEERS)
# Who answers by TLS, and to whom clients connect anew for each request.
BY_TLS = ("howdah", "howdah_constant", "nginx", "axum_pipelined", "axum_pipelined_per_core")
CONNECTING = ("howdah", "howdah_constant", "nginx", "axum_pipelined")
FORMS = ("howdah", "howdah_own_transaction", "howdah_executors")

USER = Route("GET", "/users/{handle}", "user_page(text)")
PEOPLE = Route("GET", "/people/{after}", "people_after(int)")
CACHED_PEOPLE = Route("GET", "/people/{after}", "people_after(int)", caches=True)
MESSAGE = Route("POST", "/messages", "add_message(text,text)")
FORTUNES = Route("GET", "/fortunes", "app.fortunes()")
CATALOGUE = Route("GET", "/catalogue/{after}", "app.catalogue(int)")
CACHED_CATALOGUE = Route("GET", "/catalogue/{after}", "app.catalogue(int)", caches=True, vary="{cookie:cart}")
CATALOGUE_BY_HAND = Route("GET", "/catalogue/{after}", "catalogue_by_hand(int)")
CACHED_CONSTANT = Route("GET", "/constant", "constant_page()")
SLOW = Route("GET", "/slow", "slow()")
TAGGED_USER = Route("GET", "/users/{handle}", "user_page(text)", validates=True)
OTHER_ROUTES = tuple(Route("GET", f"/shop{n}/{{handle}}/card", "user_page(text)") for n in range(1, 1000))

QUERY_WITHOUT_INDEX = Handler("users", PUBLISHED)
QUERY = Handler("users", PUBLISHED, index="users ((array[null, 'users', handle]))")

USERS = "/users/user%d"
FAST = wrk.Load(1, 19)
STREAMS = h2load.Load(2, 8, 16)
FULL = handshakes.Load(20)
RESUMED = handshakes.Load(20, resumed=True)
# Who keeps answers while somebody writes, and how often that is each second.
WRITTEN = ("howdah", "axum_pipelined_per_core", "axum_redis")
COMMITS = 100

CASES = (
    Case("users", USERS, answers.user_pages, (*FORMS, "howdah_constant", *PEERS), (USER,)),
    Case(
        "unchanged",
        USERS,
        answers.unchanged,
        ("howdah", "howdah_constant"),
        (TAGGED_USER,),
        load=wrk.Load(2, 20, "unchanged.lua"),
    ),
    Case("routes_one", USERS, answers.user_pages, ("howdah",), (USER,), group="routes"),
    Case("routes", USERS, answers.user_pages, ("howdah",), (USER, *OTHER_ROUTES), group="routes"),
    Case("users_query", USERS, answers.user_pages, (*FORMS, "node_unix", "axum_pipelined"), (QUERY,)),
    Case("users_query_no_index", USERS, answers.user_pages, ("howdah",), (QUERY_WITHOUT_INDEX,)),
    Case(
        "not_found",
        "/test?q",
        answers.not_found,
        ("howdah", "howdah_executors", *PUBLISHED_PEERS),
        (QUERY,),
        fails=True,
    ),
    Case(
        "users_t10", USERS, answers.user_pages, ("howdah", *PUBLISHED_PEERS), (USER,), load=wrk.Load(10, 20)
    ),
    Case("rows_json", "/people/%d", answers.people, ("howdah", "howdah_executors", *PEERS), (PEOPLE,)),
    Case(
        "cached_rows",
        "/people/%d",
        answers.people,
        ("howdah", "howdah_constant", "axum_pipelined", "axum_pipelined_per_core", "axum_redis"),
        (CACHED_PEOPLE, USER),
    ),
    Case("cached_written", writing.PAGE, answers.people, WRITTEN, (CACHED_PEOPLE,), written=COMMITS),
    Case("cached_without", writing.PAGE, answers.people, ("howdah",), (PEOPLE,), written=COMMITS),
    Case("cached_many_written", "/people/%d", answers.people, WRITTEN, (CACHED_PEOPLE,), written=COMMITS),
    Case("cached_many_without", "/people/%d", answers.people, ("howdah",), (PEOPLE,), written=COMMITS),
    Case(
        "fortunes",
        "/fortunes",
        answers.fortunes,
        (
            "howdah",
            "axum_pipelined",
            "axum_pipelined_per_core",
            "express_ejs",
            "express_ejs_cluster2",
            "express_ejs_pipelined",
        ),
        (FORTUNES,),
    ),
    Case("catalogue", "/catalogue/%d", answers.catalogue, ("howdah",), (CATALOGUE,), group="catalogue"),
    Case(
        "catalogue_by_hand",
        "/catalogue/%d",
        answers.catalogue,
        ("howdah",),
        (CATALOGUE_BY_HAND,),
        group="catalogue",
    ),
    Case(
        "catalogue_cached",
        "/catalogue/%d",
        answers.catalogue,
        ("howdah",),
        (CACHED_CATALOGUE,),
        group="catalogue",
    ),
    Case(
        "catalogue_constant",
        "/constant",
        answers.constant,
        ("howdah",),
        (CACHED_CONSTANT,),
        group="catalogue",
    ),
    *function_forms.CASES,
    *static_files.CASES,
    *compression.CASES,
    Case(
        "insert",
        "/messages",
        answers.messages,
        ("howdah", *PEERS),
        (MESSAGE,),
        load=wrk.Load(2, 20, "post.lua"),
        stores=True,
    ),
    Case(
        "fairness_alone",
        USERS,
        answers.user_pages,
        ("howdah",),
        (USER, SLOW),
        load=FAST,
        group="fairness",
        rounds=FAIRNESS_ROUNDS,
    ),
    Case(
        "fairness",
        USERS,
        answers.user_pages,
        ("howdah",),
        (USER, SLOW),
        load=FAST,
        group="fairness",
        beside="/slow",
        rounds=FAIRNESS_ROUNDS,
    ),
    Case(
        "tls_users",
        USERS,
        answers.user_pages,
        (*BY_TLS, "howdah_clear"),
        (USER,),
        certificate="ecdsa",
        group="tls",
    ),
    Case(
        "h2_users", USERS, answers.user_pages, BY_TLS, (USER,), load=STREAMS, certificate="ecdsa", group="tls"
    ),
    Case("handshakes", USERS, answers.user_pages, CONNECTING, (USER,), load=FULL, certificate="ecdsa"),
    Case("handshakes_rsa", USERS, answers.user_pages, CONNECTING, (USER,), load=FULL, certificate="rsa"),
    Case("resumed", USERS, answers.user_pages, CONNECTING, (USER,), load=RESUMED, certificate="ecdsa"),
    *techempower.CASES,
)
