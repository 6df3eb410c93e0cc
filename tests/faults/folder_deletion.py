"""R20, for a folder: files are written, edited and removed under a watch, while the server is killed beside it."""

import random
import time
from pathlib import Path

import httpx
import msgspec

from tests import server
from tests.cli.watching import watch
from tests.faults import installation
from tests.faults.faulty_server import VARIABLE
from tests.faults.installation import BREAKS, Installation

MODULE = "tests.faults.search_server"
COMMON = "rent"
KILL_BETWEEN = (0.3, 1.2)
FILES = 12
EDITS = 6
REMOVALS = 4
"""Of the files of a round; fewer than are removed only if someone confirms it."""
SETTLED_SECONDS = 90
WAIT = 0.05


class Report(msgspec.Struct):
    kills: int = 0
    written: int = 0
    removed: int = 0
    """Texts that are in no file any more: of files that were removed, and of those that were edited."""
    found: int = 0
    answered_removed: int = 0
    kept_removed: int = 0
    """Removed texts that a stored file still holds."""
    missing: int = 0
    refusal: str = ""
    """Why the server did not answer a question, the last time that it did not."""

    @property
    def faults(self) -> int:
        return self.answered_removed + self.kept_removed + self.missing


class _Persistent(Installation):
    """Starts its server again, as a service is, if the watch has the data folder at that moment."""

    def start(self) -> server.Server:
        while True:
            try:
                return super().start()
            except AssertionError as error:
                if "uses the data folder" not in str(error).splitlines()[-1]:
                    raise


class Scenario:
    def __init__(self, place: Path, bug: str | None, seed: int) -> None:
        self.installation = _Persistent(place / "data", bug=bug, module=MODULE)
        self.report = Report()
        self._bug = {VARIABLE: bug} if bug else {}
        self._place = place
        self._folder = place / "papers"
        self._chance = random.Random(seed)
        self._words: dict[Path, str] = {}
        """What only this file speaks of."""
        self._gone: set[str] = set()

    def run(self, kills: int) -> Report:
        key = self.installation.key()
        self._folder.mkdir()
        self._change()
        with watch(str(self._folder), self._place / "data", self._place / "errors", env=self._bug) as watching:
            watching.report()  # there is something to remove
            for _ in range(kills):
                with self.installation.running() as running:
                    self._ask(running.address, key)
                    self._change()
                    time.sleep(self._chance.uniform(*KILL_BETWEEN))
                    running.process.kill()
                self.report.kills += 1
            with self.installation.running(gently=True) as running:
                self._settle(running.address, key)
            assert watching.end() == 0, watching.errors()
        self._change()
        self.installation.command("index", str(self._folder))  # alone, it removes the stored files as well
        stored = [path.read_bytes() for path in (self._place / "data" / "blobs").rglob("*") if path.is_file()]
        self.report.kept_removed = sum(any(word.encode() in one for one in stored) for word in self._gone)
        return self.report

    def _change(self) -> None:
        known = sorted(self._words)
        for path in self._chance.sample(known, min(EDITS, len(known))):
            self._gone.add(self._words[path])
            self._write(path)
        for path in self._chance.sample(known, min(REMOVALS, len(known))):
            path.unlink()
            self._gone.add(self._words.pop(path))
        for _ in range(FILES):
            self._write(self._folder / f"{self.report.written}.txt")
        self.report.removed = len(self._gone)

    def _write(self, path: Path) -> None:
        self.report.written += 1
        self._words[path] = f"paper{self.report.written}x"
        path.write_text(f"{COMMON} clause of {self._words[path]}")

    def _ask(self, address: str, key: str) -> set[str]:
        """The texts that are answered with; none while nothing is indexed, or the server is away."""
        headers = {"Authorization": f"Bearer {key}"}
        try:
            with httpx.Client(base_url=address, headers=headers, timeout=30, trust_env=False) as http:
                answer = http.post("/query", json={"query": COMMON, "top_k": 1000, "mode": "keyword"})
        except BREAKS as error:
            self.report.refusal = repr(error)
            return set()
        if answer.status_code != 200:
            self.report.refusal = answer.text
            return set()
        results = answer.json()["results"]
        self.report.found += len(results)
        return {one["text"].rpartition(" ")[2] for one in results}

    def _settle(self, address: str, key: str) -> None:
        """Until what is answered is what the folder holds, or will not be."""
        there, until = set(self._words.values()), time.monotonic() + SETTLED_SECONDS
        self.report.refusal = ""
        while (found := self._ask(address, key)) != there and time.monotonic() < until:
            if there <= found and self._bug:
                break
            time.sleep(WAIT)
        self.report.answered_removed = len(found & self._gone)
        self.report.missing = len(there - found)


def followed(place: Path, kills: int, *, bug: str | None = None, seed: int = 1) -> Report:
    """What was found after so many kills of the server beside the watch."""
    return Scenario(place, bug, seed).run(kills)


def summary(report: Report) -> str:
    return installation.told("R20 deletion in a folder", report, "SQLite")
