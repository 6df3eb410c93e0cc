"""How a document is filed: the collection that it lies in, and its metadata."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.collection import CollectionName
from deedbox.search import limits
from deedbox.search.library.upload import DEFAULT_COLLECTION, MetadataValue

_VALUES = msgspec.json.Decoder(dict[str, MetadataValue])

FileName = Annotated[
    str, Meta(min_length=1, max_length=shared_limits.FILENAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
]
_MOST = limits.UPLOAD_NUMBER_MAX
_Name = Annotated[
    str, Meta(min_length=1, max_length=shared_limits.UPLOAD_VALUE_NAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
]
GivenValue = (
    bool
    | Annotated[int, Meta(ge=-_MOST, le=_MOST)]
    | Annotated[float, Meta(ge=-_MOST, le=_MOST)]
    | Annotated[str, Meta(max_length=shared_limits.UPLOAD_VALUE_CHARS, extra_json_schema=shared_limits.NO_NUL)]
)
Metadata = Annotated[dict[_Name, GivenValue], Meta(max_length=shared_limits.UPLOAD_VALUES)]

Kind: TypeAlias = Literal["text", "number", "boolean", "date"]
_DATE = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)?)?")


class Filing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collection: CollectionName = DEFAULT_COLLECTION
    """The collection that the document lies in."""
    metadata: Metadata = {}
    """Values by name: texts, numbers, true or false; a text that is an ISO date is compared as one."""


class FilingChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is given is changed; the rest stays."""

    filename: FileName | UnsetType = UNSET
    """Another name, for a file of the same kind."""
    collection: CollectionName | UnsetType = UNSET
    """The collection that the document lies in from now on."""
    metadata: Metadata | UnsetType = UNSET
    """All metadata that the document has from now on."""

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not UNSET}


class Key(NamedTuple):
    """A value as it is compared: only with values of the same kind."""

    kind: Kind
    text: str | None
    number: float | None


def key(value: MetadataValue) -> Key:
    if isinstance(value, bool):
        return Key("boolean", None, float(value))
    if isinstance(value, (int, float)):
        return Key("number", None, float(value))
    moment = _moment(value)
    return Key("text", value, None) if moment is None else Key("date", moment, None)


def _moment(text: str) -> str | None:
    """An ISO date or time as text that sorts by time, in UTC unless it says otherwise; None if it is neither."""
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds")


def encode(metadata: Mapping[str, MetadataValue]) -> str:
    return msgspec.json.encode(metadata).decode()


def decode(text: str) -> dict[str, MetadataValue]:
    return {} if text == "{}" else _VALUES.decode(text)
