"""Names of blobs, the same in a folder and in a bucket, and the error for one that is too large."""

import re

from deedbox.kernel import limits
from deedbox.kernel.errors import TooLarge

LOCATION = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})\.[0-9a-f]{16}")
INCOMING = "incoming"
SHELF = re.compile("[0-9a-f]{2}")


def location_of(sha256: str, name: str) -> str:
    """Where bytes with this hash lie, under a name of their own that nobody has used before."""
    return f"{sha256[:2]}/{sha256}.{name}"


def too_large(max_bytes: int, more: str = "") -> TooLarge:
    return TooLarge(f"The file is larger than {_readable(max_bytes)}{more}.")


def _readable(size_bytes: int) -> str:
    return f"{size_bytes / limits.MB:.10g} MB" if size_bytes >= limits.MB else f"{size_bytes} bytes"
