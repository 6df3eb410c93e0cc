"""The workspace's own words: its name, its sender, and whether the sender is sent notices."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from litestar import Request
from PIL import Image

from deedbox.kernel import accent
from deedbox.kernel.fairness import MemoryBudget
from deedbox.web import limits
from deedbox.web.http import brand, context, static
from deedbox.web.http.auth import PUBLIC
from deedbox.web.http.context import Context
from tests.api.conftest import Api
from tests.api.test_envelopes import new_document

pytestmark = pytest.mark.anyio

PATH = "/api/v1/workspace"


async def changed(api: Api, **body: Any) -> Any:
    answer = await api.call("PATCH", PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_new_workspace_has_no_sender_and_notices_on(api: Api) -> None:
    assert (await api.get(PATH)).json() == {
        "id": api.workspace,
        "object": "workspace",
        "name": "Main",
        "sender_name": None,
        "sender_email": None,
        "notices": True,
        "accent": None,
        "accent_shown": None,
        "logo": None,
        "embed_sites": [],
        "search_documents": True,
    }


async def test_what_is_given_changes_and_the_rest_stays(api: Api) -> None:
    await changed(api, name="Harbour Ltd", sender_name=" Mara\nLind ", sender_email="Mara@BÜCHER.example")
    after = await changed(api, notices=False)
    assert (after["name"], after["sender_name"], after["notices"]) == ("Harbour Ltd", "Mara Lind", False)
    assert after["sender_email"] == "Mara@xn--bcher-kva.example"
    assert (await api.get(PATH)).json() == after
    assert (await changed(api, sender_name=None, sender_email=None))["sender_email"] is None
    assert (await api.get("/api/v1/me")).json()["workspace"]["name"] == "Harbour Ltd"


async def test_what_is_read_can_be_written_back(api: Api) -> None:
    shown = (await api.get(PATH)).json()
    assert await changed(api, **shown) == shown
    other = await api.call("PATCH", PATH, json={**shown, "id": api.other_workspace})
    assert (other.status_code, other.json()["error"]) == (400, "id: cannot be changed")


async def test_sites_that_may_embed_are_origins_each_once(api: Api) -> None:
    sites = ["https://App.example.com/", "https://app.example.com", "http://localhost:3000"]
    after = await changed(api, embed_sites=sites)
    assert after["embed_sites"] == ["https://app.example.com", "http://localhost:3000"]
    assert (await changed(api, embed_sites=[]))["embed_sites"] == []


async def test_an_accent_that_cannot_be_read_is_shown_darker_or_lighter_and_the_answer_says_so(api: Api) -> None:
    dark = await changed(api, accent="#1F5C4D")
    assert (dark["accent"], dark["accent_shown"]["light"]) == ("#1f5c4d", "#1f5c4d")
    assert not dark["accent_shown"]["darkened"]
    pale = await changed(api, accent="#ffe000")
    assert pale["accent"] == "#ffe000"
    assert pale["accent_shown"]["darkened"]
    assert accent.contrast(pale["accent_shown"]["light"], accent.LIGHT_PAPER) >= 4.5
    assert pale["accent_shown"]["dark"] == "#ffe000"
    assert (await changed(api, accent=None))["accent_shown"] is None


async def test_another_workspace_is_neither_seen_nor_changed(api: Api) -> None:
    theirs = await api.make_key("workspace:read", "workspace:write", workspace=api.other_workspace)
    await changed(api, name="Harbour Ltd")
    shown = (await api.get(PATH, key=theirs)).json()
    assert (shown["id"], shown["name"]) == (api.other_workspace, "Other")


async def test_each_scope_opens_its_own(api: Api) -> None:
    reader = await api.make_key("workspace:read")
    assert (await api.get(PATH, key=reader)).status_code == 200
    refused = await api.call("PATCH", PATH, json={"name": "X"}, key=reader)
    assert (refused.status_code, "workspace:write" in refused.json()["error"]) == (403, True)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "No changes were given"),
        ({"name": ""}, "name"),
        ({"name": " \n "}, "must not be empty"),
        ({"name": "x" * 101}, "name"),
        ({"name": None}, "name"),
        ({"name": "\U00012000"}, "The name of the workspace"),
        ({"sender_name": ""}, "sender_name"),
        ({"sender_email": "nobody"}, "e-mail address"),
        ({"sender_email": "a@b.example\r\nBcc: c@d.example"}, "e-mail address"),
        ({"notices": "yes"}, "notices"),
        ({"logo": "x"}, "logo"),
        ({"accent": "green"}, "accent: must be a colour such as #1f5c4d"),
        ({"accent": "#1f5c4d; color: red"}, "accent"),
        ({"embed_sites": ["app.example.com"]}, "embed_sites"),
        ({"embed_sites": ["http://app.example.com"]}, "http only for localhost"),
        ({"embed_sites": ["https://app.example.com/path"]}, "is no site"),
        ({"embed_sites": ["https://a.example https://b.example"]}, "is no site"),
        ({"embed_sites": ["https://*.example"]}, "is no site"),
        ({"embed_sites": ["https://app.example.com;"]}, "is no site"),
        ({"embed_sites": ["https://app.example.com"] * 21}, "embed_sites"),
    ],
)
@pytest.mark.one_database
async def test_what_cannot_be_is_refused_and_changes_nothing(api: Api, body: Any, says: str) -> None:
    before = (await api.get(PATH)).json()
    answer = await api.call("PATCH", PATH, json=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]
    assert (await api.get(PATH)).json() == before


def picture(kind: str, size: tuple[int, int] = (900, 300)) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, "#a4262c").save(made, kind)
    return made.getvalue()


async def put_logo(api: Api, content: bytes, name: str = "logo.png") -> Any:
    return await api.call("PUT", f"{PATH}/logo", files={"file": (name, content)})


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
async def test_a_logo_is_written_anew_and_shown_to_everybody_for_ever(api: Api, kind: str) -> None:
    answer = await put_logo(api, picture(kind))
    assert answer.status_code == 200, answer.text
    shown = await api.get(answer.json()["logo"], key=None)
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/png")
    assert "immutable" in shown.headers["Cache-Control"]
    assert Image.open(io.BytesIO(shown.content)).size == (512, 171)
    assert answer.json() == (await api.get(PATH)).json()


async def test_another_logo_takes_the_place_of_the_first_and_none_is_left_when_it_is_removed(api: Api) -> None:
    first = (await put_logo(api, picture("PNG"))).json()["logo"]
    second = (await put_logo(api, picture("PNG", (64, 64)))).json()["logo"]
    assert (await put_logo(api, picture("PNG", (64, 64)))).json()["logo"] == second
    assert [(await api.get(path, key=None)).status_code for path in (first, second)] == [404, 200]
    assert (await api.call("DELETE", f"{PATH}/logo")).status_code == 204
    assert (await api.get(PATH)).json()["logo"] is None
    assert (await api.get(second, key=None)).status_code == 404
    assert await api.rows("select * from blob_refs where owner like 'logo:%'") == []
    gone = await api.call("DELETE", f"{PATH}/logo")
    assert (gone.status_code, gone.json()["error"]) == (404, "The workspace has no logo")


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: SVG, "not a PNG, JPEG or WebP"),
        (lambda: b"GIF89a" + bytes(40), "not a PNG, JPEG or WebP"),
        (lambda: b"", "not a PNG, JPEG or WebP"),
        (lambda: picture("PNG")[:200], "damaged"),
        (lambda: picture("PNG", (5000, 4000)), "at most 16,000,000 pixels"),
    ],
    ids=["svg", "gif", "empty", "cut", "large"],
)
async def test_what_is_no_logo_is_refused(api: Api, made: Callable[[], bytes], says: str) -> None:
    answer = await put_logo(api, made())
    assert answer.status_code == 400
    assert says in answer.json()["error"]
    assert (await api.get(PATH)).json()["logo"] is None


async def test_no_other_file_is_shown_as_a_logo(api: Api) -> None:
    made = (await api.post("/api/v1/documents", new_document("Secret"))).json()
    [(sha256,)] = await api.rows("select sha256 from blob_refs order by 1 limit 1")
    assert made["id"]
    names = (f"{sha256}.png", f"{sha256}", "x.png", f"{'0' * 64}.png")
    answers = [await api.get(f"/brand/{name}", key=None) for name in names]
    assert {one.status_code for one in answers} == {404}
    # Strangers who guess are counted, and apart: an office behind one address keeps what else it may do.
    left = [int(one.headers["X-RateLimit-Remaining"]) for one in answers]
    assert left == [limits.LOGO_PER_MINUTE - nth for nth in range(1, len(names) + 1)]


async def test_the_colour_comes_as_a_stylesheet_named_by_it(api: Api) -> None:
    await changed(api, accent="#ffe000", name="Harbour Ltd")
    told = await brand.of(_request(api), api.workspace)
    assert (told.name, told.initials, told.logo) == ("Harbour Ltd", "HL", None)
    sheet = await api.get(str(told.stylesheet), key=None)
    assert (sheet.status_code, sheet.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in sheet.headers["Cache-Control"]
    assert f"--accent:{accent.light('#ffe000').accent};" in sheet.text
    assert "@media (prefers-color-scheme:dark){:root{--accent:#ffe000;" in sheet.text
    for name in (
        "x/ffe000.css",
        f"{static.load_static_files().digest}/ffe000",
        f"{static.load_static_files().digest}/red%7D.css",
    ):
        assert (await api.get(f"/brand/{name}", key=None)).status_code == 404


def _request(api: Api) -> Any:
    """A request as a route of this server gets it."""
    scope: Any = {"type": "http", "method": "GET", "headers": []}
    scope[context.KEY] = Context(api.deedbox, "r", PUBLIC, MemoryBudget())
    return Request(scope)
