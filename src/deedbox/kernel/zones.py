"""Time zones by their IANA names: Europe/Berlin."""

import functools
from datetime import tzinfo
from importlib import resources

from deedbox.kernel.errors import BadRequest


def checked_zone(name: str) -> str:
    """The name; BadRequest when no zone is called so."""
    if name not in _names():
        raise BadRequest(f"{name!r} is not a time zone; give its IANA name, such as Europe/Berlin or Asia/Tokyo")
    return name


def zone(name: str) -> tzinfo:
    """The zone of a checked name; a machine without zone data of its own has that of the `tzdata` package."""
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


@functools.cache
def _names() -> frozenset[str]:
    """The names that this version of the package knows, the same on every machine."""
    return frozenset((resources.files("tzdata") / "zones").read_text("ascii").split())
