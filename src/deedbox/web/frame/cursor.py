"""The cursor of a list: opaque to callers, and in truth the id of the last record shown."""

from typing import Any

from litestar.params import QueryParameter
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import ID_CHARS, is_id

_TEXT = "`next_cursor` of the page before."


def parameter(prefix: str) -> Any:
    """Describes the cursor of a list of records with this prefix."""
    return QueryParameter(max_length=limits.CURSOR_CHARS, description=_TEXT, schema_extra=_schema(prefix))


def meta(prefix: str) -> Meta:
    """The same, for a struct of query parameters."""
    return Meta(max_length=limits.CURSOR_CHARS, description=_TEXT, extra_json_schema=_schema(prefix))


def _schema(prefix: str) -> dict[str, Any]:
    return {"pattern": f"^{prefix}_[0-7][0-9A-HJKMNP-TV-Z]{{{ID_CHARS - 1}}}$"}


def check(cursor: str | None, prefix: str) -> None:
    if cursor is not None and not is_id(cursor, prefix):
        raise BadRequest("cursor is not one that this list has given")
