"""What clients of a server that is killed under them were told: done, refused, or nothing at all."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

Outcome: TypeAlias = Literal["done", "refused", "unknown"]


class Asked(msgspec.Struct, frozen=True):
    """A request that changes something."""

    act: str
    title: str
    path: str
    body: Any = None
    key: str | None = None
    signer_id: str | None = None
    cookie: str | None = None


class Told(msgspec.Struct, frozen=True):
    """What became of a request, as far as its client knows."""

    asked: Asked
    outcome: Outcome
    answer: Any = None


class Ledger:
    """What the clients were told, and what they know of the documents."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.places: dict[str, str] = {}
        """Where a document, packet or bulk send is found, by its title, which no two have in common."""
        self.open: list[str] = []
        """Titles of documents and packets that may still be acted on."""
        self.batches: list[str] = []
        """Names of bulk sends."""
        self.template_id = ""
        """The template of all bulk sends."""
        self.owed: list[Asked] = []
        """Requests with an Idempotency-Key whose outcome is unknown: to be sent again."""
        self.answers: dict[str, bytes] = {}
        """What a request with an Idempotency-Key was answered."""
        self.cookies: dict[str, str] = {}
        """The session of each signer who has entered."""
        self.faults: list[str] = []
        self.count: Counter[str] = Counter()

    def answered(self) -> int:
        """How many requests were answered, one way or the other."""
        return self.count["done"] + self.count["refused"]

    def has_signature(self) -> bool:
        return any(told.asked.act == "complete" and told.outcome == "done" for told in self.told)

    def number(self) -> int:
        self.count["numbers"] += 1
        return self.count["numbers"]

    def settled(self) -> Iterator[Told]:
        """The last word on each request: one with an Idempotency-Key that was refused in the end was never done."""
        last = {told.asked.key: told for told in self.told if told.asked.key is not None}
        yield from last.values()
        yield from (told for told in self.told if told.asked.key is None)
