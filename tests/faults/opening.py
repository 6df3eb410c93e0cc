"""R23: a scanner without cookies opens every link and page, twenty times; nothing that is kept differs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from litestar import Litestar

from deedbox.accounts import workspaces
from deedbox.web.http import auth
from tests.api.conftest import Api, opened
from tests.api.signing.conftest import Office, signer
from tests.conftest import HandClock
from tests.faults.aftermath import Report

TIMES = 20
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "User-Agent": "a scanner"}
STATE_OF_LIMITS = ("rate_usage", "rate_heads", "rate_hits")
"""Tables that tell how often someone has asked: these may differ."""


class Scenario:
    def __init__(self, api: Api) -> None:
        self.api, self.office = api, Office(api)
        self.addresses: list[str] = []

    async def run(self) -> Report:
        await self._prepare()
        before = await everything(self.api)
        faults, statuses = [], set()
        async with self.api.client(address="192.0.2.66") as scanner:
            for address in self.addresses:
                for _ in range(TIMES):
                    answer = await scanner.get(address, headers=BROWSER)
                    statuses.add(answer.status_code)
                    if scanner.cookies:
                        faults.append(f"session: {address} gave a cookie")
                        scanner.cookies.clear()
                    if answer.status_code >= 500:
                        faults.append(f"failed: {address} was answered {answer.status_code}")
                after = await everything(self.api)
                faults += [f"changed: {address} {table}" for table in before if after[table] != before[table]]
                before = after
        figures = {"addresses": len(self.addresses), "requests": TIMES * len(self.addresses), "tables": len(before)}
        return Report({**figures, "kinds of answers": len(statuses)}, faults)

    async def _prepare(self) -> None:
        """A document in each state, with a link of each kind, and the address of every page."""
        for end in (self._waiting, self._looked_at, self._signed, self._declined, self._voided, self._overdue):
            await end()
        await self._agreed_on_a_code()
        links = await mailed(self.api)
        assert len(links) >= 8, links
        now = self.api.clock.now()
        token = await self.api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, self.api.workspace, now=now))
        self.addresses += [*links, f"/login/{token.reveal()}", "/s/deed_sign_unknown", f"/s/deed_sign_{'x' * 32}"]
        self.addresses += self._pages()

    async def _waiting(self) -> None:
        document = await self.office.create(send=True)
        self.addresses += [await self.office.link(document, "ann") for _ in range(2)]

    async def _looked_at(self) -> None:
        document = await self.office.create(send=True)
        used = await self.office.link(document, "ann")
        async with self.api.client() as browser:
            own = (await browser.get(used)).headers["location"]
            assert (await browser.get(f"{own}/session")).status_code == 200
        file_id = document["files"][0]["id"]
        self.addresses += [used, own, f"{own}/session", f"{own}/download", f"{own}/files/{file_id}/pages/1.webp"]

    async def _signed(self) -> None:
        party = {"name": "Board", "rule": "any", "signers": [signer("ann"), signer("bob")]}
        document = await self.office.create(send=True, signers=[], parties=[party])
        assert (await self.office.sign(document, "ann")).status_code == 200
        await self.api.deedbox.jobs.run_due()
        assert (await self.office.document(document["id"]))["status"] == "completed"

    async def _declined(self) -> None:
        document = await self.office.create(send=True)
        async with self.office.session(document, "ann") as browser:
            assert (await browser.post("/decline", json={})).status_code == 200

    async def _voided(self) -> None:
        document = await self.office.create(send=True)
        assert (await self.api.post(f"/api/v1/documents/{document['id']}/void")).status_code == 200

    async def _overdue(self) -> None:
        """Its time is over, and no timer has noticed yet."""
        await self.office.create(send=True, expires_at="2026-03-01T12:00:01Z")
        self.api.clock.forward(5)

    async def _agreed_on_a_code(self) -> None:
        coded = signer("ann", auth="access_code", access_code="open sesame")
        await self.office.create(send=True, signers=[coded])

    def _pages(self) -> list[str]:
        """Every GET that asks for no key, with something in the place of each name."""
        filled = {"{signer_id}": "sgn_01JD0000000000000000000000", "{token}": "unknown", "{page}": "1.webp"}
        found = []
        for path, handler in auth.list_routes(cast(Litestar, self.api.guard.app)):
            if "GET" in handler.http_methods and auth.of(handler).opener != "key":
                for name, value in filled.items():
                    path = path.replace(name, value)  # noqa: PLW2901
                found.append(path.replace("{", "").replace("}", ""))
        assert "/login" in found
        return found


async def mailed(api: Api) -> list[str]:
    """The links of all invitations, the newest first."""
    kept, place, db = api.deedbox.inbox, api.workspace, api.deedbox.db
    listed = await db.read(lambda tx: kept.page(tx, place, status="inbox", limit=100))
    letters: list[Any] = [
        (await db.read(lambda tx, id=mail.id: kept.show(tx, place, id))).mail.letter  # type: ignore[misc]
        for mail in listed
        if mail.kind == "invitation"
    ]
    return [urlsplit(letter.link).path for letter in letters]


async def everything(api: Api) -> dict[str, list[str]]:
    """Every row of every table, but for those that only tell how often someone has asked."""
    sql = (
        "select name from sqlite_master where type = 'table' and sql not like 'create virtual table%'"
        if api.deedbox.db.dialect == "sqlite"
        else "select table_name from information_schema.tables where table_schema = 'public'"
    )
    tables = [row[0] for row in await api.rows(sql)]
    return {
        table: sorted(map(repr, await api.rows(f"select * from {table}")))
        for table in tables
        if table not in STATE_OF_LIMITS
    }


@asynccontextmanager
async def scenario(database_url: str, folder: Path) -> AsyncIterator[Scenario]:
    async with opened(database_url, folder, HandClock()) as api:
        await api.settle()
        yield Scenario(api)
