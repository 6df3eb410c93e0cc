"""One large file up and down through a server, its files in a folder and in S3 (moto on loopback): seconds and memory.

Usage: python -m bench.files [--megabytes 50] [--rounds 3] [--small]"""

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
from tests import s3, server

from bench.measure import median
from bench.options import Options, tell


def main() -> None:
    options = Options(__doc__)
    options.size("megabytes", 50, small=1)
    options.size("rounds", 3, small=1)
    wish = options.wish()
    with tempfile.TemporaryDirectory() as folder, s3.running() as store:
        for name, env in {"folder": {}, "s3": store.settings(store.bucket())}.items():
            with server.running(Path(folder) / name, env=env) as running:
                passages = [passed(running, number, wish.megabytes) for number in range(wish.rounds)]
            for one in passages:
                print(
                    f"{name:8}{wish.megabytes} MB  up {one.up:6.2f} s  down {one.down:6.2f} s"
                    f"  peak memory of the server +{one.grown:.0f} MB"
                )
            up, down, grown = (median(each) for each in zip(*passages, strict=True))
            tell(wish, **{f"{name}_up": f"{up:.1f} s", f"{name}_down": f"{down:.1f} s"})
            tell(wish, **{f"{name}_memory": f"{grown:.0f} MB"})


class Passage(NamedTuple):
    """One file, up and down again: seconds, and the megabytes by which the server's peak grew."""

    up: float
    down: float
    grown: float


def passed(running: server.Server, number: int, megabytes: int) -> Passage:
    before = memory_mb(running)
    boundary = "b" * 20
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{number}.txt"\r\n\r\n'.encode()
    line = f"{number} The tenant pays the rent on the first day of every month.\n".encode()

    def body() -> Iterator[bytes]:
        yield head
        for _ in range(megabytes * 1_000_000 // (len(line) * 1000)):
            yield line * 1000
        yield f"\r\n--{boundary}--\r\n".encode()

    with httpx.Client(base_url=running.address, timeout=300, trust_env=False) as http:
        http.headers["Authorization"] = f"Bearer {running.api_key}"
        begun = time.perf_counter()
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        answer = http.post("/documents/upload", content=body(), headers=kind)
        answer.raise_for_status()
        up = time.perf_counter() - begun
        begun, size = time.perf_counter(), 0
        with http.stream("GET", f"/documents/{answer.json()['doc_id']}/content") as stream:
            stream.raise_for_status()
            for chunk in stream.iter_bytes():
                size += len(chunk)
        down = time.perf_counter() - begun
    if size < 0.9 * megabytes * 1_000_000:
        raise SystemExit(f"only {size} bytes came back")
    return Passage(up, down, memory_mb(running) - before)


def memory_mb(running: server.Server) -> float:
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
