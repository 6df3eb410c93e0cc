"""What the tests in a real browser share: the browser, and an application with its clock in hand that it can reach."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests.api.conftest import opened, served, warm_children
from tests.api.signing.conftest import Mailing, Office, with_mail
from tests.browser import screens
from tests.conftest import HandClock
from tests.kinds import WHOLE

__all__ = ["warm_children"]


def program() -> str:
    """Chromium without a window, which costs a fifth of the whole; else the whole."""
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        assert not os.environ.get("CI"), "chromium is missing: run scripts/test-deps"
        pytest.skip("chromium is missing: run scripts/test-deps")
    return found


@pytest.fixture(scope="package")
async def chromium() -> AsyncIterator[Browser]:
    """One browser for all tests of this folder: to start it costs more than most of them do."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        yield running
        await running.close()


@pytest.fixture
async def browser(chromium: Browser) -> AsyncIterator[Browser]:
    """A browser that knows nothing of the tests before: each opens contexts of its own, which end with it."""
    yield chromium
    for context in chromium.contexts:
        await context.close()


@pytest.fixture(autouse=True)
def looked_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Screens are looked at on SQLite; on PostgreSQL it is what is written that counts, unless all is tried there."""
    callspec = getattr(request.node, "callspec", None)
    if not WHOLE and callspec and callspec.params.get("database_url") == "postgres":
        monkeypatch.setattr(screens, "LOOKS", False)


@pytest.fixture
async def office(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Office]:
    """An office whose jobs are at work, which a browser reaches at `office.address`."""
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        await made.deedbox.start()
        async with served(made) as port:
            open_office = Office(made)
            open_office.address = f"http://127.0.0.1:{port}"
            yield open_office
        await made.deedbox.stop()


@pytest.fixture
async def mailing(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Mailing]:
    """The same with a mail server."""
    async with with_mail(database_url, tmp_path, clock) as made, served(made.api) as port:
        made.address = f"http://127.0.0.1:{port}"
        yield made
