"""Four servers and two workers on one PostgreSQL and one bucket: one installation whose parts are killed."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests import nursery, server
from tests.faults.installation import Installation, end
from tests.s3 import Store

SERVERS = 4
WORKERS = 2
APART_SECONDS = 0.5
"""From the death of the first until that of all others: meanwhile they go on without it."""


class Fleet(Installation):
    """Each process has a data folder of its own; the master key file is one."""

    def __init__(self, folder: Path, *, database_url: str, store: Store, bug: str | None = None) -> None:
        super().__init__(folder / "server1", database_url=database_url, bug=bug)
        self._folder = folder
        folder.mkdir(parents=True)
        self.env |= store.settings(store.bucket()) | {"DEEDBOX_MASTER_KEY_FILE": str(folder / "master.key")}

    @contextmanager
    def running(self, *, gently: bool = False) -> Iterator[server.Server]:
        with ExitStack() as stack:
            servers = [self._server(number) for number in range(1, SERVERS + 1)]
            for one in servers:
                stack.callback(end, one)
            workers = [stack.enter_context(self._worker(number, servers[0])) for number in range(1, WORKERS + 1)]
            yield _Whole(servers, workers)  # type: ignore[misc]
            if gently:
                for one in servers:
                    one.stop()

    def log(self) -> str:
        return "".join(path.read_text() for path in self._folder.glob("*.log"))

    def _server(self, number: int) -> server.Server:
        return server.start(self._folder / f"server{number}", "--no-work", module=self.module, env=self.env)

    @contextmanager
    def _worker(self, number: int, first: server.Server) -> Iterator["subprocess.Popen[str]"]:
        data = self._folder / f"worker{number}"
        command = [sys.executable, "-m", self.module, "worker", "--data", str(data)]
        env = server.environment(**self.env, DEEDBOX_BASE_URL=first.address)
        with (self._folder / f"worker{number}.log").open("a") as errors:
            process = nursery.Process(command, env=env, stdout=subprocess.DEVNULL, stderr=errors, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


class _Whole:
    """As one server: its addresses take turns, and a kill ends one part of it first and the others soon after."""

    def __init__(self, servers: list[server.Server], workers: list["subprocess.Popen[str]"]) -> None:
        self.address = " ".join(one.address for one in servers)
        self.process: Any = self
        self._processes = [*(one.process for one in servers), *workers]

    def poll(self) -> int | None:
        return next((one.returncode for one in self._processes if one.poll() is not None), None)

    def kill(self) -> None:
        first, *others = random.sample(self._processes, len(self._processes))
        first.kill()

        def follow() -> None:
            for one in others:
                one.kill()

        threading.Timer(APART_SECONDS, follow).start()
