"""People who sign over HTTP: the sender asks for their link, they follow it, and act with the cookie it gives them."""

import base64
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.faults import installation
from tests.pdf.sealed import document

COOKIE = "deedbox_signer_"
PAPER = document(1, "Deed")
FILE = {"name": "deed.pdf", "content_base64": base64.b64encode(PAPER).decode()}


class Doors:
    """Two ways into one server: with the sender's key, and without any."""

    def __init__(self, address: str, key: str) -> None:
        self.sender = installation.client(address, key)
        self.public = installation.client(address, None)
        # One client plays many signers, so no cookie may stay in it.
        self.public._cookies = httpx.Cookies(CookieJar(DefaultCookiePolicy(allowed_domains=[])))

    async def __aenter__(self) -> "Doors":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.sender.aclose()
        await self.public.aclose()

    async def document(self, document_id: str) -> Any:
        answer = await self.sender.get(f"/api/v1/documents/{document_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def enter(self, document_id: str, signer_id: str) -> str:
        """The cookie of a new session, in which the document was shown."""
        link = await self.sender.post(f"/api/v1/documents/{document_id}/signers/{signer_id}/link")
        assert link.status_code == 201, link.text
        followed = await self.follow(link.json()["url"])
        assert followed.status_code == 303, followed.text
        cookie, shown = await self.look(followed)
        assert shown.status_code == 200, shown.text
        return cookie

    async def follow(self, url: str) -> httpx.Response:
        return await self.public.get(urlsplit(url).path)

    async def look(self, followed: httpx.Response) -> tuple[str, httpx.Response]:
        """The cookie that following a link gave, and the answer that shows the document with it."""
        cookie = followed.headers["set-cookie"].partition(";")[0]
        return cookie, await self.public.get(f"{followed.headers['location']}/session", headers={"Cookie": cookie})

    async def act(self, cookie: str, verb: str, body: Any, **headers: str) -> httpx.Response:
        """`complete` or `decline`, as the signer whose cookie it is."""
        signer_id = cookie.partition("=")[0].removeprefix(COOKIE)
        return await self.public.post(f"/sign/{signer_id}/{verb}", json=body, headers={"Cookie": cookie, **headers})


def signature(text: str) -> dict[str, Any]:
    return {"consent": True, "signature": {"kind": "typed", "text": text}}


def wanted(title: str, *, send: bool, **people: Any) -> dict[str, Any]:
    """The body of a request for a document that these sign."""
    return {"title": title, "file": FILE, "send": send, **(people or {"signers": [person(1)]})}


def packet_wanted(title: str, *, send: bool, documents: int = 2, **people: Any) -> dict[str, Any]:
    """The body of a request for a packet, all of whose documents these sign."""
    parts = [{"title": f"{title}, part {number}", "file": FILE} for number in range(documents)]
    return {"title": title, "documents": parts, "send": send, **(people or {"signers": [person(1)]})}


def template_wanted(name: str) -> dict[str, Any]:
    return {"name": name, "file": FILE, "roles": [{"name": "Buyer"}]}


def batch_wanted(name: str, template_id: str, rows: int, **more: Any) -> dict[str, Any]:
    """The body of a request for a bulk send; each row says which it is by `external_id`."""
    listed = [
        {"key": f"row {number}", "roles": {"Buyer": person(number)}, "external_id": f"{name}, part {number}"}
        for number in range(rows)
    ]
    return {"name": name, "template_id": template_id, "rows": listed, **more}


def person(number: int, **more: Any) -> dict[str, Any]:
    return {"name": f"Signer {number}", "email": f"signer{number}@example.com", **more}


def at_turn(document: Any) -> list[str]:
    """The ids of the signers who can act now."""
    return [
        signer["id"]
        for party in document["parties"]
        if party["status"] == "active"
        for signer in party["signers"]
        if signer["status"] in ("notified", "viewed")
    ]
