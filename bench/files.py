"""One large file up and down through a server, its files in a folder and in S3 (moto on loopback): seconds and memory.

python -m bench.files
"""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from tests import s3, server

SIZE_BYTES = 50_000_000
ROUNDS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, s3.running() as store:
        for name, env in {"folder": {}, "s3": store.settings(store.bucket())}.items():
            with server.running(Path(folder) / name, env=env) as running:
                for number in range(ROUNDS):
                    sys.stdout.write(f"{name:8}{passed(running, number)}\n")
                    sys.stdout.flush()


def passed(running: server.Server, number: int) -> str:
    before = memory_mb(running)
    boundary = "b" * 20
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{number}.txt"\r\n\r\n'.encode()
    line = f"{number} The tenant pays the rent on the first day of every month.\n".encode()

    def body() -> Iterator[bytes]:
        yield head
        for _ in range(SIZE_BYTES // (len(line) * 1000)):
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
    grown = memory_mb(running) - before
    return f"{size / 1e6:.0f} MB  up {up:6.2f} s  down {down:6.2f} s  peak memory of the server +{grown:.0f} MB"


def memory_mb(running: server.Server) -> float:
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
