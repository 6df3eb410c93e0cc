"""R6, at the API: a retry with the same Idempotency-Key is harmless."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec
import pytest
from litestar import Response, post

from deedbox.accounts import keys
from deedbox.kernel import idempotency, limits
from deedbox.kernel.db import Database, Dialect, Isolation, Tx
from deedbox.web import limits as web_limits
from deedbox.web.http import context
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.once import once
from tests.api.answers import repeated
from tests.api.conftest import Api, opened
from tests.conftest import HandClock

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]
T = TypeVar("T")

BODY = {"name": "twice"}


async def create(api: Api, key: str | None = "k1", body: Any = None, **request: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return await api.post("/api/v1/keys", body or BODY, headers=headers, **request)


async def effects(api: Api) -> int:
    return len(await api.rows("select id from api_keys where name = 'twice'"))


async def test_a_retry_gets_the_same_answer_without_what_is_shown_once_and_says_so(api: Api) -> None:
    first = await create(api)
    api.clock.forward(100)
    again = await create(api)
    assert (again.status_code, again.content) == (201, repeated(first))
    assert (again.json()["key"], again.json()["id"]) == (None, first.json()["id"])
    assert (await create(api)).content == again.content
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.headers["content-type"] == again.headers["content-type"]
    assert await effects(api) == 1


async def test_without_a_key_or_with_another_there_is_another_effect(api: Api) -> None:
    for key in (None, None, "a", "b"):
        assert (await create(api, key)).status_code == 201
    assert await effects(api) == 4


async def test_another_body_under_the_same_key_is_409(api: Api) -> None:
    await create(api)
    other = await create(api, body={"name": "another"})
    assert (other.status_code, other.headers["X-Service-Error-Code"]) == (409, "idempotency_conflict")
    assert await effects(api) == 1


async def test_keys_of_different_callers_do_not_meet(api: Api) -> None:
    first = await create(api)
    second = await create(api, address="127.0.0.2")
    assert second.content == repeated(first)
    other = await api.make_key(workspace=api.other_workspace)
    third = await api.post("/api/v1/keys", BODY, headers={"Idempotency-Key": "k1"}, key=other)
    assert third.status_code == 201
    assert third.json()["id"] != first.json()["id"]


async def test_an_error_is_not_kept(api: Api) -> None:
    assert (await create(api, body={"name": "twice", "scopes": ["nonsense"]})).status_code == 400
    assert (await create(api)).status_code == 201
    assert await effects(api) == 1


async def test_after_a_day_the_key_is_new_again(api: Api) -> None:
    first = await create(api)
    api.clock.forward(24 * 3600 - 1)
    assert (await create(api)).content == repeated(first)
    api.clock.forward(1)
    late = await create(api)
    assert late.status_code == 201
    assert late.json()["id"] != first.json()["id"]
    assert (await create(api)).content == repeated(late)
    assert await effects(api) == 2


async def test_a_key_that_is_no_key_is_400(api: Api) -> None:
    for key in ("", "x" * 256, "\u00e9", "a\tb"):
        answer = await api.post("/api/v1/keys", BODY, headers={"Idempotency-Key": key.encode("latin-1")})
        assert answer.status_code == 400, key
    assert await effects(api) == 0
    assert (await create(api, "x" * 255)).status_code == 201


async def test_five_at_once_have_one_effect(api: Api) -> None:
    answers = await asyncio.gather(*(create(api) for _ in range(5)))
    assert await effects(api) == 1
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({repeated(answer) for answer in answers if answer.status_code == 201}) == 1
    assert len([answer for answer in answers if answer.json().get("key")]) == 1
    assert all(
        answer.headers["X-Service-Error-Code"] == "idempotency_in_progress"
        for answer in answers
        if answer.status_code == 409
    )
    assert (await create(api)).status_code == 201


class Done(msgspec.Struct):
    number: int


class Much(msgspec.Struct):
    text: str


async def test_an_effect_whose_answer_is_too_large_to_be_kept_is_undone(api: Api) -> None:
    extra = 1

    async def talkative(request: AnyRequest) -> Response[bytes]:
        now = api.clock.now()

        def act(tx: Tx) -> Much:
            keys.create(tx, context.of(request).caller, keys.NewKey(name="twice"), now=now)
            return Much("x" * (limits.IDEMPOTENT_RESPONSE_BYTES - len('{"text":""}') + extra))

        return await once(request, act, status=201)

    api.plant(post("/api/v1/planted", opt=requires("keys:write"))(talkative), alone=True)
    headers = {"Idempotency-Key": "k"}
    refused = await api.call("POST", "/api/v1/planted", headers=headers)
    assert (refused.status_code, "Nothing was done" in refused.json()["error"]) == (400, True)
    assert await effects(api) == 0
    extra = 0
    first, again = [await api.call("POST", "/api/v1/planted", headers=headers) for _ in range(2)]
    assert (first.status_code, again.content, await effects(api)) == (201, first.content, 1)


async def test_a_twin_of_a_request_that_still_runs_is_409(api: Api) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def slow(request: AnyRequest) -> Response[bytes]:
        def act(tx: Tx) -> Done:
            begun.set()
            go_on.wait(20)
            return Done(len(tx.all("select id from workspaces")))

        return await once(request, act, status=201)

    api.plant(post("/api/v1/planted", opt=requires("keys:write"))(slow), alone=True)
    headers = {"Idempotency-Key": "k"}
    first = asyncio.create_task(api.call("POST", "/api/v1/planted", headers=headers))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    twin = await api.call("POST", "/api/v1/planted", headers=headers)
    go_on.set()
    assert (twin.status_code, twin.headers["X-Service-Error-Code"]) == (409, "idempotency_in_progress")
    assert (await first).status_code == 201
    assert (await api.call("POST", "/api/v1/planted", headers=headers)).content == (await first).content


async def test_a_retry_of_a_request_that_timed_out_while_saving_has_one_effect(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    async def slow(request: AnyRequest) -> Response[bytes]:
        here = context.of(request)

        def act(tx: Tx) -> keys.KeyRecord:
            go_on.wait(20)
            return keys.create(tx, here.caller, keys.NewKey(name="twice"), now=here.deedbox.clock.now())[0]

        return await once(request, act, status=201)

    api.plant(post("/api/v1/planted", opt=requires("keys:write"))(slow), alone=True)
    headers = {"Idempotency-Key": "k"}
    with monkeypatch.context() as patched:
        patched.setattr(web_limits, "REQUEST_SECONDS", 0.05)
        assert (await api.call("POST", "/api/v1/planted", headers=headers)).status_code == 408
    retries = [asyncio.create_task(api.call("POST", "/api/v1/planted", headers=headers)) for _ in range(3)]
    await asyncio.sleep(0.05)
    go_on.set()
    assert {(await retry).status_code for retry in retries} <= {201, 409}
    assert (await api.call("POST", "/api/v1/planted", headers=headers)).headers["Idempotency-Replayed"] == "true"
    assert await effects(api) == 1


async def test_the_answer_survives_a_restart(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        first = await create(api)
        key = api.key
    async with opened(database_url, tmp_path, clock) as api:
        api.key = key
        again = await create(api)
        assert (again.content, again.headers["Idempotency-Replayed"]) == (repeated(first), "true")
        assert await effects(api) == 1


async def test_what_is_kept_is_encrypted_and_holds_no_key_even_for_who_opens_it(api: Api, tmp_path: Path) -> None:
    plain = (await create(api)).json()["key"]
    [(caller, name, kept)] = await api.rows("select caller, idempotency_key, exchange from idempotency")
    assert b"deed_live_" not in bytes(kept)
    opened_up = api.deedbox.box.decrypt(bytes(kept), f"idempotency.exchange:{caller}/{name}")
    told = msgspec.msgpack.decode(opened_up, type=idempotency.Exchange)
    assert (json.loads(told.body)["key"], plain.encode() in opened_up) == (None, False)
    # From a hash of the request in clear, whoever knows the rest of it could guess a code in it.
    assert len(told.fingerprint) == 32
    cells = [cell for row in await api.rows("select * from idempotency") for cell in row]
    assert [cell for cell in cells if isinstance(cell, bytes) and told.fingerprint in cell] == []
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and told.fingerprint in path.read_bytes()] == []
    found = [path.name for path in tmp_path.rglob("*") if path.is_file() and plain.encode() in path.read_bytes()]
    assert found == []


async def test_two_servers_on_one_database_have_one_effect(postgres_url: str, tmp_path: Path, clock: HandClock) -> None:
    async with opened(postgres_url, tmp_path, clock) as one, opened(postgres_url, tmp_path, clock) as two:
        await one.settle()
        two.key = one.key
        for number in range(5):
            answers = await asyncio.gather(*(create(api, f"k{number}") for api in (one, two, one, two, two)))
            assert {answer.status_code for answer in answers} <= {201, 409}
            assert len({repeated(answer) for answer in answers if answer.status_code == 201}) == 1
            assert len([answer for answer in answers if answer.json().get("key")]) <= 1
            assert await effects(one) == number + 1


class ServerDied(Exception):
    """What a client sees of a process that was killed: no answer."""


class DyingDatabase:
    """The real database in a process that is killed right after its first commit."""

    def __init__(self, real: Database) -> None:
        self.real = real
        self.dialect: Dialect = real.dialect
        self.listeners = real.listeners

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self.real.read(fn)

    async def read_aside(self, fn: Callable[[Tx], T]) -> T:
        return await self.read(fn)

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        await self.real.write(fn, isolation=isolation)
        raise ServerDied

    async def listen(self) -> None:
        await self.real.listen()

    async def close(self) -> None:
        await self.real.close()


async def saved_after_commit(request: AnyRequest) -> Response[bytes]:
    """The seeded bug: the effect in one transaction, its key in the next."""
    here = context.of(request)
    deedbox, now, key = here.deedbox, here.deedbox.clock.now(), request.headers["idempotency-key"]

    def act(tx: Tx) -> idempotency.StoredResponse:
        record, _ = keys.create(tx, here.caller, keys.NewKey(name="twice"), now=now)
        return idempotency.StoredResponse(201, msgspec.json.encode(record))

    kept = await deedbox.db.read(lambda tx: idempotency.store.find(tx, here.caller.id, key))
    if kept is not None:
        place = f"idempotency.exchange:{here.caller.id}/{key}"
        return Response(deedbox.box.decrypt(kept.exchange, place), status_code=kept.status)
    answer = await deedbox.db.write(act)
    await deedbox.db.write(
        lambda tx: idempotency.once(
            tx, deedbox.box, idempotency.KeyedRequest(here.caller.id, key, b""), lambda _: answer, now=now
        )
    )
    return Response(answer.body, status_code=201)


async def effects_of_a_retry_after_a_kill(api: Api, path: str) -> int:
    """How often it was done when the server dies after the commit, comes back, and the client tries again."""
    real = api.deedbox.db
    api.deedbox.db = DyingDatabase(real)
    lost = await api.post(path, BODY, headers={"Idempotency-Key": "k"})
    assert lost.status_code == 500
    api.deedbox.db = real
    assert (await api.post(path, BODY, headers={"Idempotency-Key": "k"})).status_code == 201
    return await effects(api)


async def test_a_retry_after_a_kill_between_commit_and_answer_has_one_effect(api: Api) -> None:
    assert await effects_of_a_retry_after_a_kill(api, "/api/v1/keys") == 1


async def test_the_check_sees_a_key_saved_after_the_commit(api: Api) -> None:
    api.plant(post("/api/v1/faulty", opt=requires("keys:write"))(saved_after_commit), alone=True)
    assert await effects_of_a_retry_after_a_kill(api, "/api/v1/faulty") == 2
