"""Server-sent events."""

from collections.abc import Iterable, Iterator

import msgspec


class ServerEvent(msgspec.Struct, frozen=True):
    """One event of a stream."""

    event: str
    data: str


def parse_events(lines: Iterable[str]) -> Iterator[ServerEvent]:
    """The events that the lines hold; an empty line ends each."""
    event, data = "message", list[str]()
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif not line and data:
            yield ServerEvent(event, "\n".join(data))
            event, data = "message", []
