"""Places for requests under way: so many in all, and of each caller a part, so that nobody takes them all."""

from collections.abc import Mapping

from deedbox.kernel.errors import Unavailable


class Places:
    def __init__(self) -> None:
        self.of: dict[str, int] = {}
        """Requests of each caller and each address that are not answered yet."""

    def held(self, holders: Mapping[str, int]) -> "_Held":
        """A place for each of these, for as long as that is entered; Unavailable for one that has as many as it may."""
        return _Held(self.of, holders)


class _Held:
    # A class, because a generator would take twice as long, at every request.
    __slots__ = ("_holders", "_of")

    def __init__(self, of: dict[str, int], holders: Mapping[str, int]) -> None:
        self._of = of
        self._holders = holders

    def __enter__(self) -> None:
        of = self._of
        for holder, most in self._holders.items():
            if of.get(holder, 0) >= most:
                raise Unavailable("You have too many requests under way. Try again when one of them is answered.")
        for holder in self._holders:
            of[holder] = of.get(holder, 0) + 1

    def __exit__(self, *_: object) -> None:
        of = self._of
        for holder in self._holders:
            left = of[holder] - 1
            if left:
                of[holder] = left
            else:
                del of[holder]
