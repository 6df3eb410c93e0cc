"""A person who is signed in, as the pages for senders see them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx

from deedbox.accounts import workspaces
from tests.api.conftest import Api

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@asynccontextmanager
async def owner(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in which the owner of the workspace is signed in."""
    now = api.clock.now()
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
    async with api.client() as client:
        assert (await client.post(f"/login/{token.reveal()}")).status_code == 303
        client.headers.update(BROWSER)
        yield client


def once(page: httpx.Response) -> str:
    """The hidden value of the page's form."""
    found = re.search(r'name="once" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def shown(page: httpx.Response) -> str:
    """The words of a page, in one line."""
    assert page.status_code == 200, (page.status_code, page.text[:500])
    return words(page)


def words(page: httpx.Response) -> str:
    """Of its content; of a live part, which has nothing around it, all."""
    content = page.text.partition('<main id="content"')[2] or page.text
    body = content.partition('<details class="as-api">')[0]
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))


def went(answer: httpx.Response) -> str:
    """Where the browser is sent next."""
    assert answer.status_code == 303, (answer.status_code, words(answer) or answer.text[:500])
    return str(answer.headers["location"])


async def upload(client: httpx.AsyncClient, path: str, files: list[tuple[str, bytes]], **typed: Any) -> httpx.Response:
    """The form with files, as a browser sends it."""
    parts: list[Any] = [("file", (name, content)) for name, content in files]
    parts += [(name, (None, str(value))) for name, value in typed.items()]
    return await client.post(path, files=parts)
