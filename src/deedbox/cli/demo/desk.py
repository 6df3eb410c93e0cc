"""The demo's own site beside the server: where to begin, the webhooks that arrive, and a page that embeds signing."""

import hashlib
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from typing import Any
from urllib.parse import parse_qs

import msgspec

from deedbox.cli import limits
from deedbox.cli.demo.samples import DemoSamples, guest_link
from deedbox.cli.receiver import ReceivedDelivery, Receiver
from deedbox.client import ApiError, AsyncDeedbox, NewQuery
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.errors import ServiceError
from deedbox.web.http.guard import refuse_other_sites
from deedbox.web.http.static import load_static_files, static

_POLICY = (
    "default-src 'none'; script-src 'self'{server}; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types deedbox{frame}"
)
_FILES = {"demo.css": "text/css", "host.js": "text/javascript"}
_SENTENCES = msgspec.json.Decoder(dict[str, Any])


class ReceivedReply(msgspec.Struct, frozen=True):
    status: int
    kind: str = "text/plain"
    body: bytes = b""
    embeds: bool = False
    """Whether the page shows the server's pages in a frame."""

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'


class DemoState(msgspec.Struct, frozen=True):
    """What is known of the demo once it is ready."""

    address: str
    """Of the server."""
    login_link: str
    samples: DemoSamples


class DemoReceiver(Receiver):
    """Answers under an address that only whoever reads the terminal knows."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(None, 204, limits.HOOK_LISTEN_DELIVERIES, self._keep, SystemClock())
        self._hosts = (f"localhost:{port}", f"127.0.0.1:{port}")
        self._path = f"/{token}/"
        self._received: deque[ReceivedDelivery] = deque(maxlen=limits.DEMO_DELIVERIES)
        self._open: tuple[AsyncDeedbox, DemoState] | None = None

    @property
    def site(self) -> str:
        """By a name that makes it another site than the server's: as in real life, the frame is a stranger's."""
        return f"http://{self._hosts[0]}"

    @property
    def home(self) -> str:
        return self.site + self._path

    @property
    def hook_url(self) -> str:
        return f"http://{self._hosts[1]}{self._path}deliveries"

    def begin(self, server: AsyncDeedbox, visit: DemoState) -> None:
        """From now on the pages are shown."""
        self._open = (server, visit)

    def _keep(self, received: ReceivedDelivery) -> None:
        self._received.appendleft(received)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if (scope["method"], scope["path"]) == ("POST", f"{self._path}deliveries"):
            await super()._answer(scope, receive, send)
            return
        answer = await self._page(scope)
        unchanged = (b"if-none-match", answer.etag.encode()) in scope["headers"]
        body = b"" if unchanged or scope["method"] == "HEAD" else answer.body
        headers = {
            "Content-Type": answer.kind if answer.kind == "application/json" else f"{answer.kind}; charset=utf-8",
            "ETag": answer.etag,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": self._policy(answer),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        head = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 304 if unchanged else answer.status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    def _policy(self, answer: ReceivedReply) -> str:
        server = f" {self._open[1].address}" if answer.embeds and self._open else ""
        return _POLICY.format(server=server, frame=f"; frame-src{server}" if server else "")

    async def _page(self, scope: Any) -> ReceivedReply:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host") not in self._hosts:  # another name that leads here is someone's trick
            return ReceivedReply(421, body=b"This is not the host that you asked for.")
        if found := _static(scope["path"]):
            return found
        if self._open is None or not scope["path"].startswith(self._path):
            return ReceivedReply(404, body=b"There is nothing here. The terminal shows the address.")
        server, visit = self._open
        name = scope["path"].removeprefix(self._path)
        if scope["method"] == "POST" and name == "link":
            return await _link(server, visit, scope)
        if scope["method"] not in ("GET", "HEAD"):
            return ReceivedReply(405, body=b"Pages are only read here.")
        if name in _FILES:
            return ReceivedReply(200, _FILES[name], (resources.files("deedbox.cli.demo") / "files" / name).read_bytes())
        return await self._shown(name, server, visit, scope["query_string"], headers.get("x-part"))

    async def _shown(
        self, name: str, server: AsyncDeedbox, visit: DemoState, query: bytes, part: str | None
    ) -> ReceivedReply:
        values: dict[str, Any] = {
            "visit": visit,
            "home": self._path,
            "received": [_told(one) for one in self._received],
        }
        if name == "search":
            values |= await _found(server, query)
        elif name not in ("", "deliveries", "host"):
            return ReceivedReply(404, body=b"There is no such page.")
        text = self._rendered(f"{name or 'home'}.html", part, values)
        return ReceivedReply(200 if text else 400, "text/html", text.encode(), embeds=name == "host")

    def _rendered(self, template: str, part: str | None, values: Mapping[str, Any]) -> str:
        """The page, or the one block of it that a live part asks for."""
        found = self._templates.get_template(template)
        if part is None:
            return str(found.render(values))
        return "".join(found.blocks[part](found.new_context(values))) if part in found.blocks else ""

    @cached_property
    def _templates(self) -> Any:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        made = Environment(loader=PackageLoader("deedbox.cli.demo"), autoescape=True, undefined=StrictUndefined)
        made.globals["static"] = static
        return made


def _static(path: str) -> ReceivedReply | None:
    """A file of the product's own pages, whose look this site shares."""
    under = f"/static/{load_static_files().digest}/"
    found = load_static_files().files.get(path.removeprefix(under)) if path.startswith(under) else None
    return ReceivedReply(200, found.kind.partition(";")[0], found.content) if found else None


async def _link(server: AsyncDeedbox, visit: DemoState, scope: Any) -> ReceivedReply:
    """A new agreement and the link with which the guest signs it in this site's page."""
    try:
        refuse_other_sites(scope)
        url = await guest_link(server, visit.samples.template_id)
    except ServiceError as error:
        return ReceivedReply(error.status, body=error.message.encode())
    except ApiError as error:
        return ReceivedReply(502, body=error.message.encode())
    return ReceivedReply(201, "application/json", msgspec.json.encode({"url": url}))


async def _found(server: AsyncDeedbox, query: bytes) -> dict[str, Any]:
    """The passages that answer the question in the address."""
    question = (parse_qs(query.decode("latin-1")).get("q") or [""])[0].strip()[: limits.DEMO_QUESTION_CHARS]
    if not question:
        return {"question": "", "results": [], "error": ""}
    try:
        answer = await server.search.ask(NewQuery(query=question, top_k=3))
    except ApiError as error:
        return {"question": question, "results": [], "error": error.message}
    return {"question": question, "results": answer.results, "error": ""}


def _told(received: ReceivedDelivery) -> dict[str, Any]:
    """What a delivery says, for the page: its event, about which document, and whether the signature holds."""
    try:
        event = _SENTENCES.decode(received.body)
    except msgspec.DecodeError:
        event = {}
    data = event.get("data")
    return {
        "received": received,
        "title": data.get("title") if isinstance(data, dict) else None,
        "body": msgspec.json.format(received.body, indent=2) if event else received.body,
    }
