"""R19: every page with tight headers and nothing inline, tight cookies, and no write that another site asks for."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, cast

import httpx
from litestar import Litestar

from deedbox.accounts import workspaces
from deedbox.kernel.db import Tx
from deedbox.web.http import auth
from deedbox.web.http.auth import Requirement
from deedbox.web.http.static import load_static_files
from deedbox.webhooks import hooks
from deedbox.webhooks.hook import NewHook
from tests.api.conftest import Api, opened
from tests.api.signing import test_bulk as bulk
from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.packets import Packets
from tests.conftest import HandClock
from tests.faults.aftermath import Report
from tests.faults.opening import everything, mailed

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
FOREIGN = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://deedbox.test"},
    {"Origin": "https://evil.example"},
    {"Origin": "https://deedbox.test.evil.example"},
    {"Origin": "https://deedbox.test:444"},
)
HIDDEN = {"Origin": "null"}
"""What a form without a referrer says, of this site or another: taken from a link, and with a cookie that other sites'
forms do not carry."""
SITE = "https://app.example.com"
"""Which the workspace lets show its embedded links."""
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
HARMLESS = ("/tsa", "/verify", "/verify/{code}")
"""Paths that take a POST from anybody and anywhere: they change nothing, and no cookie opens them."""
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "deedbox",
}
_INLINE = (
    ("an inline style", re.compile(r"<[^>]+\sstyle\s*=|<style", re.IGNORECASE)),
    ("a handler in an attribute", re.compile(r"<[^>]+\son\w+\s*=", re.IGNORECASE)),
    ("an inline script", re.compile(r"<script(?![^>]*\ssrc=)", re.IGNORECASE)),
    (
        "a file of another host",
        re.compile(r"<(?:script|link|img|iframe|use)\b[^>]*(?:src|href)=\"(?:https?:)?//", re.I),
    ),
)


HEAVIEST_KB = 150
"""Of a page with its styles and scripts, as they go over the wire."""
_PARTS = re.compile(r'(?:src|href)="/static/[0-9a-f]+/([\w./]+\.(?:css|js|svg))')


def weight(page: str) -> float:
    """In KB: the page itself, and each file of ours that it names, zipped as they are served."""
    files = load_static_files().files
    named = {name for name in _PARTS.findall(page) if name in files}
    return (len(page.encode()) + sum(min(len(files[one].zipped), len(files[one].content)) for one in named)) / 1000


class Scenario:
    """Goes to every page as a stranger, as a person and as a signer."""

    def __init__(self, api: Api) -> None:
        self.api, self.office = api, Office(api)
        self.named: dict[str, str] = {}
        self.faults: list[str] = []
        self.seen = {"pages": 0, "requests": 0, "writes refused": 0, "cookies": 0, "heaviest, KB": 0}

    async def run(self) -> Report:
        stranger = self.api.client(scheme="https", address="192.0.2.80")
        person, signer = await self._people()
        for name, client in {"stranger": stranger, "person": person, "signer": signer}.items():
            before = await everything(self.api)
            for path, door in self._paths(("GET",)):
                if name != "signer" or door.opener == "signer":
                    self._judge(path, await client.get(path, headers=BROWSER))
            if name != "signer":  # whose looking at pages is evidence
                self._compare(f"GET as {name}", before, await everything(self.api))
        await self._cross_site(person, signer)
        await self._framed()
        return Report(self.seen, self.faults)

    async def _people(self) -> tuple[httpx.AsyncClient, httpx.AsyncClient]:
        """A person who is signed in and a signer with a session, over TLS."""
        api, now = self.api, self.api.clock.now()
        await api.get("/ca.pem", key=None)  # the authority is made when it is first asked for
        person, signer = (api.client(scheme="https", address=f"192.0.2.8{last}") for last in "12")
        token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
        self._judge("/login", await person.post(f"/login/{token.reveal()}", headers=BROWSER))
        document = await self.office.create(send=True)
        link = (await mailed(api))[0]
        self._judge("/s", await signer.post(link, headers=BROWSER))
        spare = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
        mails = await api.deedbox.db.read(lambda tx: api.deedbox.inbox.page(tx, api.workspace, limit=1))
        invited = (await api.post("/api/v1/members", {"role": "sender"})).json()
        signer_id = document["parties"][0]["signers"][0]["id"]
        uploaded = await api.call("POST", "/documents/upload", files={"file": ("lease.pdf", LEASE)})
        template_id, packet_id, bulk_send_id, upload_id = await self._batches(person)
        own = f"/app/templates/{template_id}"
        file = (await api.get(f"/api/v1{own.removeprefix('/app')}")).json()["files"][0]["id"]
        self.named = {
            **{
                f"/app/templates/{{template_id}}/{part}/{{file_id}}": f"{own}/{part}/{file}"
                for part in ("files", "lines")
            },
            "{template_id}": template_id,
            "{packet_id}": packet_id,
            "{bulk_send_id}": bulk_send_id,
            "{upload_id}": upload_id,
            "/s/{token}": link,
            "/login/{token}": f"/login/{spare.reveal()}",
            "/join/{token}": httpx.URL(invited["link"]).path,
            "{member_id}": invited["id"],
            "/static/{digest}/{name}": f"/static/{load_static_files().digest}/deedbox.css",
            "/brand/{digest}/{name}": f"/brand/{load_static_files().digest}/1f5c4d.css",
            "{signer_id}": signer_id,
            "{document_id}": document["id"],
            "{mail_id}": mails[0].id,
            "{file_id}": document["files"][0]["id"],
            "{page}": "1.webp",
            "{key_id}": api.key.id,
            **await self._webhook(),
            "{doc_id}": uploaded.json()["doc_id"],
            "{number}": "1",
        }
        return person, signer

    async def _batches(self, person: httpx.AsyncClient) -> tuple[str, str, str, str]:
        """A template, a packet, a bulk send, and a file whose columns someone is about to name."""
        template_id = await bulk.template(self.office)
        packet = await Packets(self.api).create()
        sent = await bulk.send(self.office, template_id, [bulk.row(1)])
        parts: list[Any] = [("file", ("a.csv", b"Name,E-mail\n")), ("template_id", (None, template_id))]
        kept = await person.post("/app/bulk/new", files=parts, headers=BROWSER)
        self._judge("/app/bulk/new", kept)
        return template_id, packet["id"], sent.json()["id"], kept.headers["location"].rpartition("/")[2]

    async def _webhook(self) -> dict[str, str]:
        """A webhook with a delivery that waits."""
        api, now, who = self.api, self.api.clock.now(), workspaces.operator(self.api.workspace)
        new = NewHook("https://hooks.example/in", events=["document.sent"])

        def make(tx: Tx) -> tuple[str, str]:
            hook = hooks.create(tx, api.deedbox.box, who, new, managed_by="dashboard", now=now).hook
            return hook.id, hooks.test(tx, api.workspace, hook.id, None, now=now).id

        hook_id, delivery_id = await api.deedbox.db.write(make)
        return {"{hook_id}": hook_id, "{delivery_id}": delivery_id}

    async def _framed(self) -> None:
        """A site that the workspace names shows an embedded link, and no other; what is mailed stays out of frames."""
        named = {"embed_sites": [SITE]}
        assert (await self.api.call("PATCH", "/api/v1/workspace", json=named)).status_code == 200
        document = await self.office.create(send=True)
        embedded, in_mail = await self.office.link(document, "ann"), (await mailed(self.api))[0]
        async with self.api.client(scheme="https", address="192.0.2.84") as frame:
            self._judge("/s", await frame.get(embedded, headers=BROWSER), SITE)
            self._judge("/s", await frame.post(embedded, headers={**BROWSER, "Sec-Fetch-Dest": "iframe"}), SITE)
            place = self._filled("/sign/{signer_id}").replace(
                self.named["{signer_id}"], document["parties"][0]["signers"][0]["id"]
            )
            self._judge("/sign", await frame.get(place, headers=BROWSER), SITE)
            # The frame's cookie goes wherever this site is framed: there the lack of a referrer is no excuse.
            await self._try(frame, "POST", place, {}, SITE)
            self._judge("/s", await frame.get(in_mail, headers=BROWSER))

    def _paths(self, methods: tuple[str, ...]) -> list[tuple[str, Requirement]]:
        """The address of every route that asks for no key, with something in the place of each name."""
        found = []
        for template, handler in auth.list_routes(cast(Litestar, self.api.guard.app)):
            if auth.of(handler).opener != "key" and set(methods) & handler.http_methods:
                found.append((self._filled(template), auth.of(handler)))
        assert found, methods
        return found

    def _filled(self, path: str) -> str:
        for name, value in self.named.items():
            path = path.replace(name, value)
        return re.sub(r"[{}]", "", path)

    def _judge(self, path: str, answer: httpx.Response, site: str = "") -> None:
        self.seen["requests"] += 1
        if answer.status_code >= 500:
            self.faults.append(f"failed: {path} was answered {answer.status_code}")
        kinds = answer.headers.get_list("content-type")
        if len(kinds) > 1 or "".join(kinds).count("charset") > 1:
            self.faults.append(f"header: {path} has content-type {kinds}")
        self._judge_cookies(path, answer, "none" if site else "lax")
        if answer.headers.get("content-type", "").startswith("text/html"):
            self.seen["pages"] += 1
            self._judge_page(path, answer, {**POLICY, "frame-ancestors": site} if site else POLICY)

    def _judge_page(self, path: str, answer: httpx.Response, wanted_policy: Mapping[str, str]) -> None:
        told = answer.headers.get("content-security-policy", "")
        policy = dict(each.strip().partition(" ")[::2] for each in told.split(";"))
        if policy != wanted_policy:
            self.faults.append(f"policy: {path} has {told or 'none'}")
        # A page for a signer gives no referrer; another only to this site, so that its forms tell where they are from.
        referrer = ("no-referrer",) if path.startswith(("/s", "/sign")) else ("no-referrer", "same-origin")
        if answer.headers.get("referrer-policy") not in referrer:
            self.faults.append(f"header: {path} has referrer-policy {answer.headers.get('referrer-policy')}")
        wanted = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
        for header, value in wanted.items():
            if answer.headers.get(header) != value:
                self.faults.append(f"header: {path} has {header} {answer.headers.get(header)}")
        self.seen["heaviest, KB"] = max(self.seen["heaviest, KB"], round(weight(answer.text)))
        if weight(answer.text) > HEAVIEST_KB:
            self.faults.append(f"weight: {path} has {weight(answer.text):.0f} KB")
        for what, pattern in _INLINE:
            if pattern.search(answer.text):
                self.faults.append(f"inline: {path} has {what}")

    def _judge_cookies(self, path: str, answer: httpx.Response, same_site: str) -> None:
        for line in answer.headers.get_list("set-cookie"):
            self.seen["cookies"] += 1
            # Python's own cookies do not know Partitioned yet, and forget all when they meet it.
            plain = line.removesuffix("; Partitioned")
            [(name, cookie)] = SimpleCookie(plain).items()
            tight = name.startswith("__Host-") and cookie["secure"] and cookie["httponly"] and not cookie["domain"]
            tight = tight and cookie["path"] == "/" and cookie["samesite"].lower() == same_site
            if not tight or (plain != line) != (same_site == "none"):
                self.faults.append(f"cookie: {path} sets {name} as {line.partition(';')[2]}")

    async def _cross_site(self, person: httpx.AsyncClient, signer: httpx.AsyncClient) -> None:
        """Another site's page has the visitor's browser send each write there is."""
        before = await everything(self.api)
        both = "; ".join(f"{name}={value}" for one in (person, signer) for name, value in one.cookies.items())
        async with self.api.client(scheme="https", address="192.0.2.83") as victim:
            for path, door in self._paths(UNSAFE):
                if path in [self._filled(each) for each in HARMLESS]:
                    continue
                if not door.own_site:
                    self.faults.append(f"door: {path} takes writes of other sites")
                for method in self._methods(path):
                    await self._try(victim, method, path, {"Cookie": both})
        self._compare("writes of another site", before, await everything(self.api))

    def _methods(self, path: str) -> list[str]:
        app = cast(Litestar, self.api.guard.app)
        return [
            str(method)
            for template, handler in auth.list_routes(app)
            for method in handler.http_methods
            if method in UNSAFE and self._filled(template) == path
        ]

    async def _try(
        self, victim: httpx.AsyncClient, method: str, path: str, cookie: Mapping[str, str], site: str = ""
    ) -> None:
        hides = bool(site) or not path.startswith(("/s/", "/sign/"))
        for foreign in (*FOREIGN, HIDDEN) if hides else FOREIGN:
            headers = {**BROWSER, **foreign, **cookie}
            answer = await victim.request(method, path, headers=headers, data={"name": "Evil", "act": "decline"})
            self._judge(path, answer, site)
            self.seen["writes refused"] += answer.status_code == 403
            if answer.status_code != 403:
                self.faults.append(f"cross-site: {method} {path} was answered {answer.status_code} for {foreign}")

    def _compare(self, what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        self.faults += [f"changed: {table} by {what}" for table in before if after[table] != before[table]]


@asynccontextmanager
async def scenario(database_url: str, folder: Path) -> AsyncIterator[Scenario]:
    async with opened(database_url, folder, HandClock()) as api:
        await api.settle()
        yield Scenario(api)
