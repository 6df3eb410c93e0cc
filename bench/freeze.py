"""What large wrong bodies do to everybody else: 20 of 8 MB at once, with and without key or cookie.

Usage: python -m bench.freeze [--bodies 20] [--megabytes 8] [--small]"""

import base64
import http.client
import json
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.lifecycle import make_pdf
from bench.measure import process, temporary_folder
from bench.options import Options, tell
from bench.request import free_port, make_key, wait_for
from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch

PATHS = ("/sign/{signer_id}/complete", "/api/v1/documents", "/query")
LIVEZ_MS, GROWTH_MB = 100, 100
PAUSE_SECONDS = 0.005


class Server(NamedTuple):
    port: int
    pid: int
    key: str

    def call(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, Any]:
        """The answer, and its body."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        wire.request(method, path, body, headers)
        answer = wire.getresponse()
        content = answer.read()
        wire.close()
        return answer, content

    def post(self, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return json.loads(self.call("POST", path, json.dumps(body).encode(), headers)[1])

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


class Watched(NamedTuple):
    times: list[float]
    """The milliseconds of each /livez."""
    sizes: list[float]
    """The server's megabytes after each."""


def signers_cookie(server: Server) -> str:
    """The cookie of a signer whose document was sent."""
    file = {"name": "a.pdf", "content_base64": base64.b64encode(make_pdf()).decode()}
    signers = [{"name": "A", "email": "a@example.com"}]
    made = server.post("/api/v1/documents", {"title": "One", "file": file, "signers": signers, "send": True})
    signer = made["parties"][0]["signers"][0]["id"]
    link = server.post(f"/api/v1/documents/{made['id']}/signers/{signer}/link", {})["url"]
    opened, _ = server.call("GET", urlsplit(link).path, b"", {})
    return str(opened.headers["set-cookie"]).split(";")[0]


def watched(server: Server, work: Callable[[], object]) -> Watched:
    """How /livez answers while something else is done."""
    found, ended = Watched([], []), threading.Event()

    def run() -> None:
        try:
            work()
        finally:
            ended.set()

    wire, task = wait_for(server.port), threading.Thread(target=run)
    task.start()
    while not ended.is_set() or not found.times:
        begun = stopwatch()
        wire.request("GET", "/livez")
        wire.getresponse().read()
        found.times.append((stopwatch() - begun) * 1000)
        found.sizes.append(server.memory_mb())
        time.sleep(PAUSE_SECONDS)
    task.join()
    return found


def attack(server: Server, path: str, headers: dict[str, str], body: bytes, number: int) -> Counter[int]:
    def one(_: int) -> int:
        return server.call("POST", path, body, {"Content-Type": "application/json", **headers})[0].status

    with ThreadPoolExecutor(number) as pool:
        return Counter(pool.map(one, range(number)))


def percentile(values: Sequence[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1] if len(values) > 1 else values[0]


def measure(server: Server, wish: Any) -> None:
    # A little less, so that the route whose bound is 8 MB reads it to its end.
    bodies, size = wish.bodies, wish.megabytes * limits.MB - limits.KB
    body = b"[" + b"[]," * (size // 3 - 1) + b"[]]"
    cookie = signers_cookie(server)
    quiet = watched(server, lambda: time.sleep(wish.rest))
    before = max(quiet.sizes)
    print(f"/livez alone: p50 {percentile(quiet.times, 50):.1f} ms, p99 {percentile(quiet.times, 99):.1f} ms")
    print(f"/livez while {bodies} bodies of {size / limits.MB:.0f} MB come at once, the server had {before:.0f} MB:")
    slowest, most = [], []
    for path in PATHS:
        known = {"Cookie": cookie} if path.startswith("/sign") else {"Authorization": f"Bearer {server.key}"}
        for name, headers in (("nobody", {}), ("known", known)):
            statuses: Counter[int] = Counter()
            there = path.replace("{signer_id}", cookie.partition("=")[0].removeprefix("deedbox_signer_"))
            seen = watched(server, lambda: statuses.update(attack(server, there, headers, body, bodies)))  # noqa: B023
            print(
                f"  {path:26} {name:7} {dict(statuses)!s:10} p50 {percentile(seen.times, 50):5.1f} ms"
                f"  p99 {percentile(seen.times, 99):5.1f} ms  memory +{max(seen.sizes) - before:.0f} MB"
            )
            slowest.append(percentile(seen.times, 99))
            most.append(max(seen.sizes) - before)
    print(f"  (aim: p99 under {LIVEZ_MS} ms; 401, 400 or 413; memory less than +{GROWTH_MB} MB)")
    tell(wish, p99=f"{min(slowest):.0f}–{max(slowest):.0f} ms", memory=f"{max(most):.0f} MB")


def main() -> None:
    options = Options(__doc__)
    options.size("bodies", 20, small=2)
    options.size("megabytes", 8, small=1)
    options.size("rest", 3.0, small=0.1, help="seconds for which /livez is watched before")
    wish = options.wish()
    with temporary_folder() as folder:
        key, port = make_key(folder / "data", "*"), free_port()
        command = [sys.executable, "-m", "deedbox", "serve", "--data", str(folder / "data"), "--port", str(port)]
        with process(command, DEEDBOX_ACCESS_LOG="false", DEEDBOX_ANONYMOUS_PER_MINUTE="100000") as child:
            wait_for(port).close()
            measure(Server(port, child.pid, key), wish)


if __name__ == "__main__":
    main()
