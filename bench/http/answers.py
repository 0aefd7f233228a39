"""What the pages must answer, looked at before a system is measured."""

import html
import http.client
import json
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.harness.processes import Failed


@dataclass(frozen=True)
class Origin:
    """Where a system answers: a port of the loopback interface, by TLS where there is an authority."""

    port: int
    authority: Path | None = None
    """The certificate of who has signed the system's."""

    def url(self, path):
        """The whole address of a path."""
        return f"{'https' if self.authority else 'http'}://127.0.0.1:{self.port}{path}"

    def connection(self):
        """A connection that asks for TLS 1.3 and the right certificate, if for TLS at all."""
        if not self.authority:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        context = ssl.create_default_context(cafile=self.authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)


class Answer:
    """Status, media type and body of one response."""

    def __init__(self, response):
        self.status = response.status
        self.media_type = (response.getheader("content-type") or "").partition(";")[0].strip()
        self.allow = response.getheader("allow")
        self.tag = response.getheader("etag")
        self.coding = response.getheader("content-encoding")
        self.body = response.read()

    def __str__(self):
        return f"{self.status} {self.media_type} {self.body[:300]!r}"


def fetch(origin, path, method="GET", form=None, headers=()):
    """One request on a connection of its own."""
    connection = origin.connection()
    headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else dict(headers)
    try:
        connection.request(method, path, form, headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def user_pages(origin, _cluster):
    """The page of a user greets it by name."""
    for number in (1, 500, 1000):
        path = f"/users/user{number}"
        answer = fetch(origin, path)
        _expect(path, answer, 200, "text/html", answer.body.decode() == f"Hello, <b>Name {number}</b>!")


def unchanged(origin, _cluster):
    """Whoever has the page of a user gets 304, and no body."""
    path = "/users/user1"
    page = fetch(origin, path)
    tag = page.tag or "none"
    answer = fetch(origin, path, headers={"If-None-Match": tag})
    _expect(path, answer, 304, "", answer.tag == tag and not answer.body)


def constant_page(origin, _cluster):
    """Whoever asks no database greets one user."""
    answer = fetch(origin, "/users/user500")
    _expect("/users/user500", answer, 200, "text/html", answer.body.decode() == "Hello, <b>Name 500</b>!")


def not_found(origin, _cluster):
    """A path without a page answers 404 and names what was asked for."""
    answer = fetch(origin, "/test?q")
    wanted = {"method": "GET", "path": "/test", "query_string": "q"}
    _expect("/test?q", answer, 404, "application/json", _json(answer) == wanted)


def people(origin, _cluster):
    """Twenty people follow an id, with their nine columns."""
    for after in (1, 1000):
        path = f"/people/{after}"
        answer = fetch(origin, path)
        rows = _json(answer)
        right = isinstance(rows, list) and [_person(row) for row in rows] == _people_after(after)
        _expect(path, answer, 200, "application/json", right)


def reading(origin, cluster):
    """A row of `world`, or one of its numbers, in whatever form."""
    path = "/forms/1"
    wanted = int(cluster.sql("select randomnumber from world where id = 1"))
    row = {"id": 1, "randomnumber": wanted}
    answer = fetch(origin, path)
    right = answer.status == 200 and _json(answer) in (row, [row], wanted)
    _expect(path, answer, 200, answer.media_type, right)


def fortunes(origin, cluster):
    """The twelve and one more, sorted and escaped."""
    rows = [line.split("|", 1) for line in cluster.sql("select id, message from fortune").splitlines()]
    rows = sorted([*rows, ["0", "Additional fortune added at request time."]], key=lambda row: row[1])
    answer = fetch(origin, "/fortunes")
    # Each system writes an entity in its own way.
    page = html.unescape(answer.body.decode())
    right = page.replace("\n", "").endswith(
        "<tr><th>id</th><th>message</th></tr>"
        + "".join(f"<tr><td>{number}</td><td>{message}</td></tr>" for number, message in rows)
        + "</table></body></html>"
    )
    _expect("/fortunes", answer, 200, "text/html", right and b"<script>" not in answer.body)


def catalogue(origin, cluster):
    """The same as the function that somebody wrote by hand, byte for byte."""
    for after in (1, 1000):
        path = f"/catalogue/{after}"
        wanted = cluster.sql(f"select catalogue_by_hand({after})")
        answer = fetch(origin, path)
        _expect(path, answer, 200, "text/html", answer.body.decode().strip() == wanted.strip())


def constant(origin, _cluster):
    """As many bytes as a page has."""
    answer = fetch(origin, "/constant")
    _expect("/constant", answer, 200, "text/html", len(answer.body) == 4000)


def messages(origin, cluster):
    """A posted form is a row as soon as it is answered."""
    cluster.sql("truncate messages")
    answer = fetch(origin, "/messages", "POST", "author=user7&body=It%27s+100%25+here")
    stored = cluster.sql("select author, body from messages")
    _expect("/messages", answer, 204, "", stored == "user7|It's 100% here")


def options(origin, _cluster):
    """The gateway itself says which methods a route has."""
    answer = fetch(origin, "/users/user1", "OPTIONS")
    _expect("/users/user1", answer, 204, "", answer.allow == "GET, HEAD, OPTIONS")


def _person(row):
    created_at = datetime.fromisoformat(row["created_at"])
    return {**row, "created_at": created_at}


def _people_after(after):
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        {
            "id": n,
            "handle": f"user{n}",
            "name": f"Name {n}",
            "email": f"user{n}@example.com",
            "age": 18 + n % 60,
            "score": n * 1.25,
            "active": n % 2 == 0,
            "created_at": start + timedelta(hours=n),
            "bio": f'Likes "quotes", façades and long walks, number {n}' if n % 3 > 0 else None,
        }
        for n in range(after + 1, after + 21)
    ]


def _json(answer):
    try:
        return json.loads(answer.body)
    except ValueError:
        return None


def _expect(path, answer, status, media_type, right):
    if answer.status != status or answer.media_type != media_type or not right:
        raise Failed(f"{path}: expected {status} {media_type} and the right body, but got {answer}")
