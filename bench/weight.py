"""What the signing page weighs and when it can be used on a phone, beside a page that reads the PDF in the browser.

4G: 9 Mbit/s and 60 ms; the phone: a quarter of this machine. The peer is pdfjs-dist, which only shows the first page.

Usage: python -m bench.weight [--rounds 5] [--no-peers] [--small]"""

import asyncio
import functools
import gzip
import http.server
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from playwright.async_api import Browser, CDPSession, Page, async_playwright

from bench.lifecycle import make_pdf
from bench.measure import ROOT, median, process, temporary_folder
from bench.options import NOT_MEASURED, Options, tell
from bench.request import free_port, make_key, wait_for
from deedbox.client import Deedbox, LoneSigner, NewDocument

KB = 1000
BYTES_A_SECOND, LATENCY_MS, CPU_SLOWER = 9_000_000 / 8, 60, 4
PHONE: Any = {"width": 390, "height": 760}
PAGE_AIM_KB, WHOLE_AIM_KB, READY_AIM_MS = 60, 150, 1000
PEER = ROOT / "bench" / "peers" / "pdfjs"
OWN = ("Document", "Stylesheet", "Script")
FIRST = re.compile(r"/pages/1\.webp|/lease\.pdf")


class Visit(NamedTuple):
    """One opening of a page with nothing kept from before."""

    page_kb: float
    """HTML, CSS and scripts, as they came."""
    first_kb: float
    """The picture of the first page, or the file of which the browser draws it."""
    ready_ms: float
    """From the request to the moment at which it can be used."""


class Wire:
    """What came over a connection that is as slow as a phone's."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._asked: dict[str, tuple[str, str]] = {}
        self.came: list[tuple[str, str, float]] = []
        """Kind, address and kilobytes of all that came."""

    async def begin(self) -> None:
        self._session.on("Network.responseReceived", self._started)
        self._session.on("Network.loadingFinished", self._ended)
        await self._session.send("Network.enable")
        slow = {"latency": LATENCY_MS, "downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND}
        await self._session.send("Network.emulateNetworkConditions", {"offline": False, **slow})
        await self._session.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWER})

    def _started(self, told: Mapping[str, Any]) -> None:
        self._asked[told["requestId"]] = (told["type"], told["response"]["url"])

    def _ended(self, told: Mapping[str, Any]) -> None:
        kind, address = self._asked.get(told["requestId"], ("Other", ""))
        self.came.append((kind, address, told["encodedDataLength"] / KB))


async def visited(browser: Browser, address: str, cookies: list[Any], ready: str) -> Visit:
    """Opens the page and waits until the script says that it is ready, and its first picture is there."""
    context = await browser.new_context(viewport=PHONE, device_scale_factor=2)
    await context.add_cookies(cookies)
    page = await context.new_page()
    page.on("pageerror", lambda error: print(f"{address}: {error}", file=sys.stderr))
    wire = Wire(await context.new_cdp_session(page))
    await wire.begin()
    await page.goto(address, wait_until="commit")
    await page.locator(ready).wait_for(state="attached")
    at = await page.evaluate("Number(document.documentElement.dataset.shown ?? performance.now())")
    await page.wait_for_load_state("networkidle")
    await context.close()
    own = sum(size for kind, _, size in wire.came if kind in OWN)
    return Visit(own, sum(size for _, address, size in wire.came if FIRST.search(address)), float(at))


SIGNING_READY, READER_READY = "#progress:not([hidden])", "html[data-shown]"
"""What there is only once the page can be used."""


async def cookies_of(browser: Browser, link: str) -> tuple[str, list[Any]]:
    """The address of the signing page behind a link, and what opens it."""
    context = await browser.new_context()
    page: Page = await context.new_page()
    await page.goto(link)
    await page.locator("form button.main").click()
    await page.locator("#sheet").wait_for()
    address, found = page.url, await context.cookies()
    await context.close()
    return address, found


def link_of(port: int, key: str) -> str:
    """The link of someone who has a lease of three pages to sign."""
    with Deedbox(f"http://127.0.0.1:{port}", key) as deedbox:
        ann = LoneSigner(name="Ann", email="ann@example.com")
        made = deedbox.documents.create(
            NewDocument(title="Lease", signers=[ann], send=True), [("lease.pdf", make_pdf())]
        )
        return deedbox.documents.signing_link(made.id, made.parties[0].signers[0].id).url


class _Zipped(http.server.SimpleHTTPRequestHandler):
    """Serves a folder as a careful server would: with what can be compressed compressed."""

    protocol_version = "HTTP/1.1"
    sent: ClassVar[dict[str, float]] = {}
    """Kilobytes of each file: the browser does not tell what its workers load, which come over a fast line besides."""

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        kind = {".mjs": "text/javascript", ".html": "text/html", ".pdf": "application/pdf"}.get(file.suffix)
        if kind is None or not file.is_file():
            self.send_error(404)
            return
        body = file.read_bytes() if file.suffix == ".pdf" else gzip.compress(file.read_bytes())
        self.sent[file.name] = len(body) / KB
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if file.suffix != ".pdf":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def reader(folder: Path) -> Iterator[str]:
    """The address of a page that shows the same lease by pdf.js."""
    subprocess.run([str(ROOT / "scripts" / "setup"), "bench-node"], check=True)
    for file in (*(PEER / "node_modules" / "pdfjs-dist" / "build").glob("*.min.mjs"), *PEER.glob("reader.*")):
        shutil.copy(file, folder)
    (folder / "lease.pdf").write_bytes(make_pdf())
    handler = functools.partial(_Zipped, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/reader.html"
        server.shutdown()


async def measured(link: str, peer: str | None, rounds: int) -> dict[str, list[Visit]]:
    """Both pages, in turn."""
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        address, cookies = await cookies_of(browser, link)
        ways: dict[str, Callable[[], Awaitable[Visit]]] = {
            "deedbox": lambda: visited(browser, address, cookies, SIGNING_READY),
        }
        if peer is not None:
            ways["pdf.js"] = lambda: visited(browser, peer, [], READER_READY)
        found: dict[str, list[Visit]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                found[name].append(await way())
        await browser.close()
    return found


def main() -> None:
    options = Options(__doc__, peers="pdf.js")
    options.size("rounds", 5, small=1)
    wish = options.wish()
    with temporary_folder() as folder, ExitStack() as stack:
        data, port = folder / "data", free_port()
        key = make_key(data, "*")
        serve = [sys.executable, "-m", "deedbox", "serve", "--data", str(data), "--port", str(port)]
        stack.enter_context(process(serve))
        wait_for(port).close()
        (folder / "peer").mkdir()
        peer = stack.enter_context(reader(folder / "peer")) if wish.peers else None
        found = asyncio.run(measured(link_of(port, key), peer, wish.rounds))
    show(wish, {name: Visit(*(median(each) for each in zip(*visits, strict=True))) for name, visits in found.items()})


def show(wish: Any, told: dict[str, Visit]) -> None:
    weight = wait = NOT_MEASURED
    ours = told["deedbox"]
    if wish.peers:
        scripts = sum(size for name, size in _Zipped.sent.items() if not name.endswith(".pdf"))
        theirs = told["pdf.js"] = told["pdf.js"]._replace(page_kb=scripts)
        weight, wait = f"{theirs.page_kb / ours.page_kb:.0f} ×", f"{theirs.ready_ms / ours.ready_ms:.1f} ×"
    print(f"A signing page on a phone (4G, CPU ÷ {CPU_SLOWER}), a lease of 3 pages, median of {wish.rounds}:")
    for name, one in told.items():
        whole = f"{one.page_kb:7.1f} KB of HTML, CSS and JS, {one.page_kb + one.first_kb:7.1f} KB with the first page"
        print(f"  {name:8} {whole}, usable after {one.ready_ms:6.0f} ms")
    print(f"  aims     {PAGE_AIM_KB} KB, {WHOLE_AIM_KB} KB, {READY_AIM_MS} ms")
    print(f"  pdf.js / deedbox: {weight} the weight, {wait} the wait")
    tell(wish, size=f"{ours.page_kb:.0f} KB", ready=f"{ours.ready_ms / 1000:.1f} s", weight=weight, wait=wait)


if __name__ == "__main__":
    main()
