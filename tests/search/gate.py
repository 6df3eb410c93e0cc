"""A gate in the way of builds: they stop in the middle until it is opened by hand."""

import threading
from collections.abc import Iterable, Iterator

from deedbox.search.engine import SearchEngine
from deedbox.search.index import Index, IndexChange, Place


class Gate:
    """The changes of an engine's indexes stop at the gate: so many pass before it is opened."""

    def __init__(self, passing: int = 0) -> None:
        self._passing = passing
        self._opened = threading.Event()
        self._looking = threading.Condition()
        self.came: list[str] = []
        """The workspaces whose builds have come to the gate, the first one first."""

    def stand_before(self, engine: SearchEngine) -> None:
        """The indexes that the engine opens from now on get their changes through the gate."""
        opened = engine.indexes.open

        def open_index(place: Place, dimensions: int) -> Index:
            index = opened(place, dimensions)
            take = index.apply

            def apply(changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:
                take(self._held(place[0], changes), watermark, since)

            index.apply = apply  # type: ignore[method-assign]
            return index

        engine.indexes.open = open_index  # type: ignore[method-assign]

    def open(self) -> None:
        self._opened.set()

    def wait_for(self, builds: int) -> None:
        """Returns when so many builds have come to the gate; to be called in a thread."""
        with self._looking:
            assert self._looking.wait_for(lambda: len(self.came) >= builds, timeout=60)

    def _held(self, workspace: str, changes: Iterable[IndexChange]) -> Iterator[IndexChange]:
        for number, change in enumerate(changes):
            if number == self._passing:
                with self._looking:
                    self.came.append(workspace)
                    self._looking.notify_all()
                self._opened.wait()
            yield change
