"""Packets, as their senders and signers work with them through the API."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.api.conftest import Api
from tests.api.search.files import pdf
from tests.api.signing.conftest import LEASE, signer

RULES = pdf("Shoes off.", size=(595, 842))
ANNEX = pdf("Keys.", size=(595, 842))


def file(name: str = "lease.pdf", content: bytes = LEASE) -> dict[str, str]:
    return {"name": name, "content_base64": base64.b64encode(content).decode()}


def place(party: str) -> dict[str, Any]:
    """A signature field on the first page."""
    return {"type": "signature", "party": party, "page": 1, "x": 0.1, "y": 0.8, "w": 0.3, "h": 0.05}


def three(**more: Any) -> dict[str, Any]:
    """Everyone signs the lease, everyone reads the rules, and the landlord alone signs the annex.

    Two of three tenants come first, and then the landlord, with the approval of a bookkeeper."""
    tenants = [signer("ann"), signer("bob"), signer("cem")]
    return {
        "title": "Papers for a move",
        "documents": [
            {"title": "Lease", "file": file(), "external_id": "lease-1"},
            {"title": "Rules", "file": file("rules.pdf", RULES), "fields": []},
            {"title": "Annex", "file": file("annex.pdf", ANNEX), "fields": [place("Landlord")]},
        ],
        "parties": [
            {"name": "Tenants", "rule": "quorum", "quorum": 2, "order": 1, "signers": tenants},
            {"name": "Landlord", "order": 2, "signers": [signer("eve"), signer("kim", role="approver")]},
        ],
        **more,
    }


class Packets:
    """Sends packets, and signs them as their signers would."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def create(self, **more: Any) -> Any:
        answer = await self.api.post("/api/v1/packets", three(**more))
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def now(self, packet: Any) -> Any:
        return (await self.api.get(f"/api/v1/packets/{packet['id']}")).json()

    async def move(self, packet: Any, what: str, **body: Any) -> httpx.Response:
        return await self.api.post(f"/api/v1/packets/{packet['id']}/{what}", body or None)

    async def change(self, packet: Any, **change: Any) -> httpx.Response:
        return await self.api.call("PATCH", f"/api/v1/packets/{packet['id']}", json=change)

    async def link(self, packet: Any, name: str) -> str:
        """The path of a fresh link for the signer."""
        people = [one for party in packet["parties"] for one in party["signers"]]
        [signer_id] = [one["id"] for one in people if one["email"].startswith(f"{name}@")]
        made = await self.api.call("POST", f"/api/v1/packets/{packet['id']}/signers/{signer_id}/link")
        assert made.status_code == 201, made.text
        return str(urlsplit(made.json()["url"]).path)

    @asynccontextmanager
    async def followed(self, path: str) -> AsyncIterator[httpx.AsyncClient]:
        """A browser that has followed a signer's one link."""
        async with self.api.client() as browser:
            arrived = await browser.get(path)
            assert arrived.status_code == 303, arrived.text
            browser.base_url = browser.base_url.join(arrived.headers["location"])
            yield browser

    @asynccontextmanager
    async def session(self, packet: Any, name: str) -> AsyncIterator[httpx.AsyncClient]:
        async with self.followed(await self.link(packet, name)) as browser:
            yield browser

    async def sign(self, packet: Any, name: str) -> httpx.Response:
        async with self.session(packet, name) as browser:
            assert (await browser.get("/session")).status_code == 200
            signature = {"kind": "typed", "text": name.title()}
            return await browser.post("/complete", json={"consent": True, "signature": signature})

    async def approve(self, packet: Any, name: str) -> httpx.Response:
        async with self.session(packet, name) as browser:
            assert (await browser.get("/session")).status_code == 200
            return await browser.post("/complete", json={"consent": True})

    async def decline(self, packet: Any, name: str) -> httpx.Response:
        async with self.session(packet, name) as browser:
            return await browser.post("/decline", json={"reason": "Too dear"})

    async def reached(self, packet: Any, status: str) -> Any:
        """The packet, once it is in this state."""
        async with asyncio.timeout(90):
            while (found := await self.now(packet))["status"] != status:
                await asyncio.sleep(0.05)
        return found

    async def events(self, packet: Any) -> list[tuple[str, str]]:
        """Every event there is, in the order of the feed: its kind, and the title of what it is about."""
        fed = (await self.api.get("/api/v1/events?limit=100")).json()["events"]
        assert {one["data"]["packet_id"] for one in fed} == {packet["id"]}
        return [(one["type"], one["data"]["title"]) for one in fed]
