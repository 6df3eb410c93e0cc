"""Applies change after change to an index until it is killed, and says which are done.

The change of a number is always the same, so that another process can tell what the index must hold."""

import random
import sys
from pathlib import Path

from deedbox.search import limits
from deedbox.search.index import IndexChange
from deedbox.search.index.local import LocalIndex
from tests.search.index.model import DIMENSIONS, change

UPLOADS = 12
REWRITE_ROWS = 30


def nth(seed: int, number: int) -> IndexChange:
    random_ = random.Random(f"{seed}/{number}")
    return change(f"upl_{random_.randrange(UPLOADS):02d}", random_)


def main(folder: str, seed: int) -> None:
    limits.REWRITE_ROWS = REWRITE_ROWS
    index = LocalIndex(Path(folder), DIMENSIONS, "recipe")
    random_ = random.Random()
    while True:
        count = random_.randint(1, 6)
        first = index.watermark + 1
        index.apply([nth(seed, number) for number in range(first, first + count)], first + count - 1)
        print(index.watermark, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
