"""A gate in the way of builds: they stop in the middle until it is opened by hand."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from deedbox.search.engine import local_index
from deedbox.search.index import Change, Index


class Gate:
    """Opens indexes whose changes stop at the gate: so many pass before it is opened."""

    def __init__(self, passing: int = 0) -> None:
        self._passing = passing
        self._opened = threading.Event()
        self._looking = threading.Condition()
        self.came: list[str] = []
        """The workspaces whose builds have come to the gate, the first one first."""

    def index(self, folder: Path, dimensions: int, recipe: str) -> Index:
        index = local_index(folder, dimensions, recipe)
        take = index.apply

        def apply(changes: Iterable[Change], watermark: int) -> None:
            take(self._held(folder.parent.name, changes), watermark)

        index.apply = apply  # type: ignore[method-assign]
        return index

    def open(self) -> None:
        self._opened.set()

    def wait_for(self, builds: int) -> None:
        """Returns when so many builds have come to the gate; to be called in a thread."""
        with self._looking:
            assert self._looking.wait_for(lambda: len(self.came) >= builds, timeout=60)

    def _held(self, workspace: str, changes: Iterable[Change]) -> Iterator[Change]:
        for number, change in enumerate(changes):
            if number == self._passing:
                with self._looking:
                    self.came.append(workspace)
                    self._looking.notify_all()
                self._opened.wait()
            yield change
