"""The entries of a long JSON list, each cut out as it is asked for: how many they are costs nothing before that."""

import re
from collections.abc import Iterator

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.web import limits

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)


def items(name: str, value: msgspec.Raw) -> Iterator[bytes]:
    """The entries of the list, which has passed the decoder already; BadRequest if it is none, or one is too large."""
    content = bytes(value)
    if not content.startswith(b"["):
        raise BadRequest(f"{name}: must be a list")
    depth, start, index = 0, 1, 0
    for token in _TOKEN.finditer(content):
        mark = token[0][:1]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if token.end() - start > limits.BULK_ROW_BYTES:
            raise BadRequest(f"{name}[{index}]: larger than {limits.BULK_ROW_BYTES // shared_limits.MB} MB")
        if depth == 0 or (depth == 1 and mark == b","):
            if item := content[start : token.start()].strip():
                yield item
            start, index = token.end(), index + 1
