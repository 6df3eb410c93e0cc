"""Files of the pages: under the digest of all, kept for ever, and gone when one of them changes."""

import gzip
from importlib import resources

import msgspec
import pytest

from deedbox.web.http import static
from deedbox.web.http.static import StaticFiles
from tests.api.conftest import Api

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


def shelf(**files: str) -> StaticFiles:
    return StaticFiles(
        "d", {f"js/{name}.js": static.file(f"js/{name}.js", text.encode()) for name, text in files.items()}
    )


async def test_a_file_is_kept_for_ever_and_comes_zipped_to_those_who_unzip(api: Api) -> None:
    path = static.static("deedbox.css")
    assert path == f"/static/{static.load_static_files().digest}/deedbox.css"
    plain = await api.get(path, key=None, headers={"Accept-Encoding": "identity"})
    assert (plain.status_code, plain.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert plain.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert (plain.headers["X-Content-Type-Options"], plain.headers["Vary"]) == ("nosniff", "Accept-Encoding")
    zipped = await api.get(path, key=None, headers={"Accept-Encoding": "br, gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert zipped.content == plain.content
    assert int(zipped.headers["Content-Length"]) < len(plain.content) / 2
    again = await api.get(path, key=None, headers={"If-None-Match": plain.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "name",
    ["deedbox.css", "0123456789abcdef/deedbox.css", "{digest}/nothing.css", "{digest}/../static.py", "{digest}/js"],
)
async def test_another_digest_or_name_is_not_found(api: Api, name: str) -> None:
    answer = await api.get("/static/" + name.format(digest=static.load_static_files().digest), key=None)
    assert answer.status_code == 404
    assert "immutable" not in answer.headers.get("Cache-Control", "")


def test_the_digest_is_another_one_when_a_file_is() -> None:
    one = static.load_static_files()
    other = dict(one.files)
    css = msgspec.structs.replace(other["deedbox.css"], etag='"other"')
    assert static.digest_of({**other, "deedbox.css": css}) != one.digest == static.digest_of(other)
    assert static.digest_of({**other, "new.css": css}) != one.digest


def test_a_script_is_served_exactly_as_it_is_written() -> None:
    source = b"""// What it is for.
import {one} from "./one.js";  // its neighbour
const curve = `M${one}${places.map(place => `Q${place} ${one}`).join('')}Z`;
"""
    made = static.file("js/page.js", source)
    assert made.imports == ["js/one.js"]
    assert made.content == source == gzip.decompress(made.zipped)
    folder = resources.files("deedbox.web") / "static" / "js"
    scripts = {f"js/{one.name}": one.read_bytes() for one in folder.iterdir()}
    assert {name: static.load_static_files().files[name].content for name in scripts} == scripts


def test_a_page_that_names_a_missing_file_fails_when_it_is_rendered() -> None:
    with pytest.raises(KeyError):
        static.static("deedbx.css")


def test_a_module_s_imports_are_asked_for_at_once() -> None:
    made = shelf(
        sign='import { a } from "./pad.js";\nimport "./live.js";\nexport { b } from \'./zoom.js\';',
        pad='import {\n  long,\n  names,\n} from "../js/ink.js";',
        live='const text = "import nothing"; // import "./no.js" is a comment',
        zoom="",
        ink='import { a } from "./pad.js";',
    )
    assert made.imports("js/sign.js") == ["js/pad.js", "js/live.js", "js/zoom.js", "js/ink.js"]
    assert static.script("js/live.js") == f'<script type="module" src="{static.static("js/live.js")}"></script>'


def test_what_is_sent_zipped_is_the_file() -> None:
    for file in static.load_static_files().files.values():
        assert gzip.decompress(file.zipped) == file.content


async def test_marks_and_flags_take_the_colour_of_the_brand(api: Api) -> None:
    rules = await api.get(f"/brand/{static.load_static_files().digest}/7a1f5c.css", key=None)
    assert ":root{--brand:#7a1f5c;--on-brand:#ffffff}@media" in rules.text
    sheet = static.load_static_files().files["signing.css"].content.decode()
    marks = [
        line for line in sheet.splitlines() if line.startswith((".mark[data-state=done]", ".mark[data-state=now]"))
    ]
    assert len(marks) >= 3
    assert "#1f5c4d" not in sheet
    assert all("var(--brand)" in line for line in marks[:3])
