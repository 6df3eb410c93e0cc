"""The cursor of a list: opaque to callers, and in truth the id of the last record shown."""

from typing import Any

from litestar.params import QueryParameter

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import ID_CHARS, is_id


def parameter(prefix: str) -> Any:
    """Describes the cursor of a list of records with this prefix."""
    pattern = f"^{prefix}_[0-7][0-9A-HJKMNP-TV-Z]{{{ID_CHARS - 1}}}$"
    text = "`next_cursor` of the page before."
    return QueryParameter(max_length=limits.CURSOR_CHARS, description=text, schema_extra={"pattern": pattern})


def check(cursor: str | None, prefix: str) -> None:
    if cursor is not None and not is_id(cursor, prefix):
        raise BadRequest("cursor is not one that this list has given")
