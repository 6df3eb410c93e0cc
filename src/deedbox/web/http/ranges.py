"""Parts of a file, and files that the caller has already: RFC 9110, sections 13 and 14."""

import re

from deedbox.kernel.errors import RangeNotSatisfiable

_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def is_current(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller says that it holds this very content."""
    if if_none_match is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]


def parse_range(asked: str | None, if_range: str | None, etag: str, size: int) -> tuple[int, int] | None:
    """First byte and length of the part that is asked for; None for the whole, also for what is no single range."""
    match = _ONE_RANGE.fullmatch(asked.strip()) if asked and if_range in (None, etag) else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        length = min(int(last), size)
        start = size - length
    else:
        start = int(first)
        if last and int(last) < start:
            return None
        length = min(int(last) + 1 if last else size, size) - start
    if length <= 0:
        raise RangeNotSatisfiable(
            f"The file has {size} bytes, and none in that range", headers={"Content-Range": f"bytes */{size}"}
        )
    return start, length
