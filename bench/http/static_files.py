"""Static files: the same bytes as files of an application of Howdah's, and in a folder that nginx serves."""

import gzip
import random

from bench.harness.processes import Failed
from bench.http import wrk
from bench.http.answers import fetch
from bench.http.model import Case

SYSTEMS = ("howdah", "nginx_files")
# Of an odd size, a page's style sheet, a picture.
SIZES = {"1k.txt": 1 << 10, "64k.css": 64 << 10, "1m.txt": 1 << 20}
FOLDER = "/static/"
WORDS = ("body", "color", "margin", "padding", "width", "height", "display", "flex", "grid", "auto", "none")


def write(folder, packed):
    """Writes the files, and beside them what nginx finds packed, if it is for that."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        (folder / name).write_bytes(content(name))
        if packed and size > 1 << 10:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content(name), 9, mtime=0))


def content(name):
    """The bytes of a file: words in an order that is the same each time."""
    chosen = random.Random(name)
    size = SIZES[name]
    return " ".join(chosen.choice(WORDS) for _ in range(size // 3))[:size].encode()


def expect(answer, right):
    """Raises unless the answer is right."""
    if not right:
        raise Failed(f"a file is answered by {answer}")


def whole(name):
    """Looks at the answer to a request for a file."""

    def check(origin, _cluster):
        answer = fetch(origin, FOLDER + name)
        expect(answer, answer.status == 200 and answer.body == content(name))

    return check


def in_gzip(name):
    """Looks at the answer to a client that takes gzip."""

    def check(origin, _cluster):
        answer = fetch(origin, FOLDER + name, headers={"Accept-Encoding": "gzip"})
        expect(answer, answer.status == 200 and gzip.decompress(answer.body) == content(name))

    return check


def unchanged(name):
    """Looks at the answer to a client that has the file."""

    def check(origin, _cluster):
        tag = fetch(origin, FOLDER + name).tag
        answer = fetch(origin, FOLDER + name, headers={"If-None-Match": tag or ""})
        expect(answer, bool(tag) and answer.status == 304 and not answer.body)

    return check


CASES = (
    Case("static_1k", FOLDER + "1k.txt", whole("1k.txt"), SYSTEMS, ()),
    Case("static_1m", FOLDER + "1m.txt", whole("1m.txt"), SYSTEMS, ()),
    Case(
        "static_packed",
        FOLDER + "64k.css",
        in_gzip("64k.css"),
        SYSTEMS,
        (),
        load=wrk.Load(2, 20, "packed.lua"),
    ),
    Case(
        "static_unchanged",
        FOLDER + "1k.txt",
        unchanged("1k.txt"),
        SYSTEMS,
        (),
        load=wrk.Load(2, 20, "unchanged.lua"),
    ),
    Case("static_1k_tls", FOLDER + "1k.txt", whole("1k.txt"), SYSTEMS, (), certificate="ecdsa"),
)
