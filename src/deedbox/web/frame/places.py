"""Places for requests under way: so many in all, and of each caller a part, so that nobody takes them all."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from deedbox.kernel.errors import Unavailable


class Places:
    def __init__(self) -> None:
        self.of: Counter[str] = Counter()
        """Requests of each caller and each address that are not answered yet."""

    @contextmanager
    def held(self, holders: Mapping[str, int]) -> Iterator[None]:
        """Holds a place for each of these; Unavailable for one that has as many as are given for it."""
        for holder, most in holders.items():
            if self.of[holder] >= most:
                raise Unavailable("You have too many requests under way. Try again when one of them is answered.")
        for holder in holders:
            self.of[holder] += 1
        try:
            yield
        finally:
            for holder in holders:
                self.of[holder] -= 1
                if not self.of[holder]:
                    del self.of[holder]
