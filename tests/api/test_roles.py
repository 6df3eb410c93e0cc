"""R13 for pages: each of them, for nobody and for each role; one that is added later is among them by itself."""

from collections.abc import Iterator
from typing import Any, cast

import httpx
import pytest
from litestar import Litestar, get, post

from deedbox.accounts import people
from deedbox.accounts.roles import ROLES, Role, scopes_of
from deedbox.web.http.auth import LOGIN, PERSON, Requirement, person, requires
from deedbox.web.http.context import AnyRequest
from tests.api.answers import Route, routes
from tests.api.conftest import Api
from tests.api.people import member

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

SENTENCE = "Your role in this workspace does not allow this. Ask one of its owners."


def pages(api: Api) -> list[Route]:
    found = [route for route in routes(api.guard) if route.door.opener == "person" and route.method != "HEAD"]
    assert len(found) > 15, "the table of pages is empty"
    return found


async def asked(api: Api, route: Route, person_id: str | None) -> httpx.Response:
    """The page's answer to a browser, in a session of its own: some pages end sessions."""
    headers, now = {"Accept": "text/html"}, api.clock.now()
    if person_id is not None:
        token = await api.deedbox.db.write(lambda tx: people.open_session(tx, person_id, now=now))
        headers["Cookie"] = f"deedbox={token.reveal()}"
    return await api.call(route.method, route.path, key=None, headers=headers)


def wrong(route: Route, role: Role | None, answer: httpx.Response) -> Iterator[str]:
    """What is wrong with an answer; nothing, if it is as the role demands."""
    here = f"{route.method} {route.path} as {role}: {answer.status_code}"
    if role is None:
        if (answer.status_code, answer.headers.get("location")) != (303, "/login"):
            yield here
    elif route.need and route.need not in scopes_of(role):
        if answer.status_code != 403 or SENTENCE not in answer.text:
            yield here
    elif answer.status_code in (401, 403) or (answer.headers.get("location") == "/login" and route.path != "/logout"):
        yield here


async def holes(api: Api) -> list[str]:
    who: dict[Role | None, str | None] = {None: None}
    who |= {role: await member(api, role, role.title()) for role in ROLES}
    found: list[str] = []
    for route in pages(api):
        for role, person_id in who.items():
            found += wrong(route, role, await asked(api, route, person_id))
    return found


async def test_every_page_opens_to_the_roles_that_have_its_scope_and_to_nobody_else(api: Api) -> None:
    assert await holes(api) == []


async def test_each_role_has_pages_that_it_may_see_and_but_for_owners_pages_that_it_may_not(api: Api) -> None:
    needs = {route.need for route in pages(api) if route.need}
    closed = {role: needs - scopes_of(role) for role in ROLES}
    assert closed["owner"] == set()
    assert closed["sender"] < closed["viewer"]
    assert closed["sender"]


@pytest.mark.parametrize("wanted", [PERSON, LOGIN, Requirement("person"), Requirement("key", scope="documents:read")])
async def test_a_page_of_the_workspace_that_declares_no_scope_cannot_be_built(api: Api, wanted: Requirement) -> None:
    """The seeded bug."""

    async def forgotten() -> None: ...

    for made in (get("/app/forgotten", opt=requires(wanted)), post("/app/forgotten/{thing:str}", opt=requires(wanted))):
        with pytest.raises(TypeError, match="does not say which scope"):
            api.plant(made(forgotten), alone=True)


async def test_the_table_sees_a_page_that_refuses_whom_it_should_let_in(api: Api) -> None:
    """The seeded bug: a page that is added later, and asks for more than it declares."""

    async def strict(request: AnyRequest) -> Any:
        from deedbox.web.http import context

        context.of(request).caller.need("keys:write")

    api.plant(get("/app/strict", opt=person("documents:read"), include_in_schema=False)(strict))
    assert cast(Litestar, api.guard.app).routes
    assert await holes(api) == [f"GET /app/strict as {role}: 403" for role in ROLES if role != "owner"]
