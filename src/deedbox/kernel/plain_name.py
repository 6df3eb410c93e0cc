"""Names of files that every system takes: letters, digits and little else, and not too long."""

import re

_MOST_CHARS = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,9}\Z")


def plain_name(name: str) -> str:
    """The name without what some system would stumble over; its ending stays."""
    found = _ENDING.search(name)
    ending = found.group() if found else ""
    stem = _UNSAFE.sub("_", name.removesuffix(ending)).strip("._") or "file"
    return stem[: _MOST_CHARS - len(ending)] + ending
