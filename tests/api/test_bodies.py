"""Bodies: decoded once, and what is wrong with one is said in plain words."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
import pytest
from litestar import post
from litestar.params import JSONBody
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable
from deedbox.kernel.fairness import MemoryBudget
from deedbox.web import limits as web_limits
from deedbox.web.http import body as bodies
from deedbox.web.http.auth import requires
from tests.api.answers import faults
from tests.api.conftest import Api
from tests.api.test_envelopes import new_document, place_of, signers_cookie

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}
EIGHT_MB = b"[" + b"[]," * ((8 * limits.MB - limits.KB) // 3) + b"[]]"


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    share: Annotated[float, Meta(gt=0, le=1)] = 1
    kind: Literal["small", "large"] = "small"


class Everything(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=5)]
    number: Annotated[int, Meta(ge=1, le=9)] | None = None
    flag: bool = False
    inner: Annotated[list[Inner], Meta(max_length=2)] = []
    table: Annotated[dict[str, Annotated[str, Meta(max_length=2)]], Meta(max_length=2)] = {}
    code: Annotated[str, Meta(pattern="^[a-z]+$")] = "a"


async def _echo(data: JSONBody[Everything]) -> Everything:
    return data


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{}", "name: missing"),
        ("[]", "The body must be a JSON object"),
        ('{"name": 5}', "name: must be text"),
        ('{"name": ""}', "name: must not be empty"),
        ('{"name": "abcdef"}', "name: at most 5 characters"),
        ('{"name": "a", "nmae": 1}', "nmae: there is no such field"),
        ('{"name": "a", "number": "1"}', "number: must be a whole number"),
        ('{"name": "a", "number": 1.5}', "number: must be a whole number"),
        ('{"name": "a", "number": 0}', "number: at least 1"),
        ('{"name": "a", "number": 10}', "number: at most 9"),
        ('{"name": "a", "number": 10.0}', "number: at most 9"),
        ('{"name": "a", "flag": "true"}', "flag: must be true or false"),
        ('{"name": "a", "inner": {}}', "inner: must be a list"),
        ('{"name": "a", "inner": [{}, {"share": 0}]}', "inner[1].share: more than 0"),
        ('{"name": "a", "inner": [{"kind": "x"}]}', "inner[0].kind: must be one of large, small"),
        ('{"name": "a", "inner": [{}, {}, {}]}', "inner: at most 2 entries"),
        ('{"name": "a", "table": {"a": "abc"}}', "table[]: at most 2 characters"),
        ('{"name": "a", "code": "A"}', "code: not written as the API's description says"),
        ('{"name": "a\\u0000"}', "The body contains a NUL character"),
    ],
)
@pytest.mark.one_database
async def test_a_mistake_is_named_with_its_field_in_plain_words(api: Api, body: str, said: str) -> None:
    api.plant(post("/api/v1/planted", opt=requires("search:read"), status_code=200)(_echo), alone=True)
    answer = await api.call("POST", "/api/v1/planted", content=body.encode(), headers=JSON)
    assert faults("/api/v1/planted", answer, 400) == []
    assert answer.json()["error"] == said


@pytest.mark.one_database
async def test_a_wrong_address_is_called_one(api: Api) -> None:
    wrong = {**new_document("One"), "signers": [{"name": "Ann", "email": "nowhere"}]}
    answer = await api.post("/api/v1/documents", wrong)
    assert (answer.status_code, answer.json()["error"]) == (400, "signers[0].email: not an e-mail address")


@pytest.mark.one_database
async def test_a_wrong_query_parameter_is_named(api: Api) -> None:
    for params, said in (
        ({"limit": "101"}, "limit: at most 100"),
        ({"limit": "x"}, "limit: must be a whole number"),
        ({"q": ""}, "q: must not be empty"),
    ):
        answer = await api.get("/api/v1/documents", params=params)
        assert (answer.status_code, answer.json()["error"]) == (400, said)


@pytest.mark.parametrize(
    ("written", "number"), [("5.0", 5), ("5e0", 5), ("0.5e1", 5), ("50E-1", 5), ("5", 5), ("null", None)]
)
@pytest.mark.one_database
async def test_a_whole_number_may_be_written_as_a_fraction(api: Api, written: str, number: int | None) -> None:
    api.plant(post("/planted", opt=requires("search:read"), status_code=200)(_echo), alone=True)
    text = '"5.0\\""'
    body = f'{{"name": {text}, "number": {written}, "inner": [{{"share": 0.5}}]}}'
    answer = await api.call("POST", "/planted", content=body.encode(), headers=JSON)
    assert (answer.status_code, answer.json()["name"], answer.json()["number"]) == (200, '5.0"', number)
    assert answer.json()["inner"][0]["share"] == 0.5


async def test_an_escaped_backslash_before_u0000_is_no_nul(api: Api) -> None:
    for text, status in ((r"\\u0000", 201), (r"\u0000", 400), (r"\\\u0000", 400), (r"\\\\u0000", 201)):
        answer = await api.call("POST", "/api/v1/keys", content=b'{"name": "%b"}' % text.encode(), headers=JSON)
        assert answer.status_code == status, text


@pytest.mark.one_database
async def test_a_large_body_is_read_beside_the_loop_and_named_as_a_small_one(api: Api) -> None:
    cookie = await signers_cookie(api)
    for path, request in ((f"{place_of(cookie)}/complete", {"key": None, "headers": {**JSON, "Cookie": cookie}}),
                          ("/api/v1/documents", {"headers": JSON})):  # fmt: skip
        answer = await api.call("POST", path, content=EIGHT_MB, **request)
        assert faults(path, answer, 400) == []
        assert answer.json()["error"] == "The body must be a JSON object"
    title = b'{"name": "a", "scopes": ["%b"]}' % (b"x" * 2 * web_limits.SMALL_BODY_BYTES)
    answer = await api.call("POST", "/api/v1/keys", content=title, headers=JSON)
    assert answer.json()["error"] == "scopes[0]: at most 40 characters"
    assert api.guard.room.left == limits.LARGE_BODIES_BYTES


async def test_large_bodies_wait_for_room_and_give_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGE_BODIES_BYTES", 10)
    monkeypatch.setattr(limits, "LARGE_BODY_WAIT_SECONDS", 60)
    room, order = MemoryBudget(), []

    async def use(name: str, size: int) -> None:
        await room.take(size, name)
        order.append(name)

    await use("first", 8)
    waiting = [asyncio.create_task(use("second", 6)), asyncio.create_task(use("third", 3))]
    given_up = asyncio.create_task(use("gone", 3))
    while len(room._waiting) < 3:
        await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    assert order == ["first"]
    await use("small", 1)  # does not wait behind those for whom there is no room
    room.give(1, "small")
    room.give(8, "first")
    await asyncio.gather(*waiting)
    assert (order, room.left) == (["first", "small", "second", "third"], 1)
    monkeypatch.setattr(limits, "LARGE_BODY_WAIT_SECONDS", 0.01)
    with pytest.raises(Unavailable):
        await room.take(4, "late")
    assert room.left == 1


async def test_one_caller_takes_a_quarter_of_the_room_or_one_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGE_BODIES_BYTES", 40)
    room = MemoryBudget()
    for _ in range(5):
        await room.take(2, "many")
    await room.take(20, "one")
    waiting = [asyncio.create_task(room.take(2, name)) for name in ("many", "one", "many")]
    while len(room._waiting) < 3:
        await asyncio.sleep(0)
    await room.take(9, "other")
    assert room.left == 1
    room.give(9, "other")
    room.give(20, "one")
    await waiting[1]
    assert (waiting[0].done(), room.left) == (False, 28)
    room.give(2, "many")
    await waiting[0]
    room.give(2, "many")
    await waiting[2]
    assert room.left == 28


async def test_those_who_wait_too_long_at_one_moment_leave_the_room_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGE_BODY_WAIT_SECONDS", 0.01)
    room = MemoryBudget()
    whole = room.left
    await room.take(whole - 1, "a")
    waiting = [asyncio.create_task(room.take(size, str(size))) for size in (whole, 1000, 1000, 1, 1000)]
    await asyncio.sleep(0)
    time.sleep(0.05)  # the loop stands still until every one of them is late
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(one, Unavailable) or one is None for one in ended), ended
    room.give(whole - 1, "a")
    for one, size in zip(ended, (whole, 1000, 1000, 1, 1000), strict=True):
        if one is None:
            room.give(size, str(size))
    assert room.left == whole


@pytest.mark.one_database
async def test_a_body_of_very_many_texts_is_refused_before_it_is_decoded(api: Api) -> None:
    many = ",".join(f'"{number:06}":""' for number in range(web_limits.JSON_QUOTES // 3))
    answer = await api.call(
        "POST", "/api/v1/documents", content=f'{{"title":"x","metadata":{{{many}}}}}'.encode(), headers=JSON
    )
    assert (answer.status_code, "names and texts" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("number", ["007.0", "1.0.0", "1.0e1e1", "+5.0", "5.", ".5e1"])
@pytest.mark.one_database
async def test_what_is_no_number_stays_none(api: Api, number: str) -> None:
    body = f'{{"name":"m","rate_limit":{{"per_minute":5.0,"per_day":{number}}}}}'
    answer = await api.call("POST", "/api/v1/keys", content=body.encode(), headers=JSON)
    assert answer.status_code == 400, answer.text


@pytest.mark.one_database
async def test_a_form_of_many_parts_is_refused_unread(api: Api) -> None:
    answer = await api.call(
        "POST",
        "/login",
        key=None,
        content=b"a=&" * 349_000,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"] == "The request body is too large"


@pytest.mark.one_database
async def test_a_mistyped_signing_link_is_not_told_of_keys(api: Api) -> None:
    for path in ("/s/x/y", "/sign/nothing/here", "/login/a/b"):
        answer = await api.get(path, key=None)
        assert answer.status_code == 404, path


@pytest.mark.one_database
async def test_slashes_inside_a_path_change_nothing_of_an_error(api: Api) -> None:
    answer = await api.get("/api//v1/me", key=None)
    assert (answer.status_code, answer.json()["status"]) == (401, 401)


@pytest.mark.one_database
async def test_no_second_decoding_of_a_body(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeded bug would be the framework's own: it decodes generically what the route has as a struct."""
    calls: list[Any] = []
    decoded = bodies.decoded_now

    def counted(kind: Any, content: bytes) -> Any:
        calls.append(kind.__name__)
        return decoded(kind, content)

    monkeypatch.setattr(bodies, "decoded_now", counted)
    monkeypatch.setattr("litestar.connection.request.decode_json", None)
    assert (await api.post("/api/v1/keys", {"name": "a"})).status_code == 201
    assert calls == ["NewKey"]


@pytest.mark.one_database
async def test_a_body_that_drips_holds_no_room(api: Api) -> None:
    go_on, begun = asyncio.Event(), asyncio.Event()
    room = api.guard.room
    title = b'{"title": "' + b"x" * (2 * web_limits.SMALL_BODY_BYTES)

    async def slowly() -> AsyncIterator[bytes]:
        yield title
        begun.set()
        await go_on.wait()
        yield b'"}'

    for announced in ({}, {"Content-Length": str(len(title) + 2)}):
        begun.clear()
        go_on.clear()
        slow = asyncio.create_task(
            api.call("POST", "/api/v1/documents", content=slowly(), headers={**JSON, **announced})
        )
        await begun.wait()
        assert room.left == limits.LARGE_BODIES_BYTES
        go_on.set()
        assert (await slow).json()["error"] == "title: at most 400 characters"
        assert room.left == limits.LARGE_BODIES_BYTES


async def test_a_body_that_comes_in_pieces_takes_room_for_what_it_has(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = MemoryBudget.take

    async def noted(self: MemoryBudget, size: int, holder: str) -> None:
        taken.append(size)
        assert holder == api.key.id
        await take(self, size, holder)

    monkeypatch.setattr(MemoryBudget, "take", noted)

    async def pieces(body: bytes) -> AsyncIterator[bytes]:
        for at in range(0, len(body), 50_000):
            yield body[at : at + 50_000]

    for size in (1000, 200_000):
        body = b'{"name": "a"}' + b" " * (size - 13)
        for _ in range(2):  # the answer of the first is kept: the body was still there to be compared
            answer = await api.call(
                "POST", "/api/v1/keys", content=pieces(body), headers={**JSON, "Idempotency-Key": str(size)}
            )
            assert answer.status_code == 201, answer.text
        assert answer.headers["Idempotency-Replayed"] == "true"
    assert taken == [200_000, 200_000]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 299, 300, 301, 1000])
def test_base64_is_decoded_in_pieces_as_in_one(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "BASE64_PIECE_CHARS", 100)
    content = bytes(number % 251 for number in range(size))
    assert b"".join(bodies.from_base64(base64.b64encode(content).decode())) == content


@pytest.mark.parametrize("text", ["Q" * 101, "QQ==" * 30, "Q" * 99 + "é", "QU JD" * 30, "QUI=" * 25 + "QUJD"])
def test_what_is_no_base64_is_none_in_pieces_either(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "BASE64_PIECE_CHARS", 100)
    with pytest.raises(ValueError):
        base64.b64decode(text, validate=True)
    with pytest.raises(ValueError):
        list(bodies.from_base64(text))
