"""The server with the tests' model, whose builds of indexes are held up in the middle until a file is there."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from deedbox.cli import main
from deedbox.search import limits
from deedbox.search.index import IndexChange
from deedbox.search.index.local import LocalIndex
from tests.faults.search_server import use_the_tests_model

VARIABLE = "GATE"
LOOK_SECONDS = 0.02


def hold_builds(gate: Path) -> None:
    take = LocalIndex.apply

    def held(changes: Iterable[IndexChange]) -> Iterator[IndexChange]:
        for number, change in enumerate(changes):
            while number == 1 and not gate.exists():
                time.sleep(LOOK_SECONDS)
            yield change

    def apply(self: LocalIndex, changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:
        take(self, held(changes), watermark, since)

    LocalIndex.apply = apply  # type: ignore[method-assign]


if __name__ == "__main__":
    use_the_tests_model()
    limits.INDEX_NEAR_CHUNKS = 1
    hold_builds(Path(os.environ[VARIABLE]))
    main()
