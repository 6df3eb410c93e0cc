"""Names of files that every system takes: letters, digits and little else, and not too long."""

import re

_MOST_CHARS = 80
_ENDING_CHARS = 10
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def plain_name(name: str) -> str:
    """The name without what some system would stumble over; its ending stays."""
    safe = _UNSAFE.sub("_", name).strip("._") or "file"
    stem, dot, ending = safe.rpartition(".")
    if not dot or len(ending) >= _ENDING_CHARS:
        return safe[:_MOST_CHARS]
    return f"{stem[: _MOST_CHARS - len(ending) - 1]}.{ending}"
