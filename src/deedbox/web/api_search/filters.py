"""The filter of a query, as the API takes it."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.constraints import LEFT_OUT, SENT, Constraint, Constraints, Is
from deedbox.kernel.errors import BadRequest
from deedbox.search.conditions import METADATA, Condition, Either, Every, Not, Op, compare
from deedbox.search.library.filing import GivenValue
from deedbox.search.library.upload import MetadataValue
from deedbox.web import limits
from deedbox.web.http import timestamps

Text = Annotated[
    str, Meta(min_length=1, max_length=shared_limits.FILENAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
]
Moment = Annotated[datetime, Meta(tz=True)]
Field = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=len(METADATA) + shared_limits.UPLOAD_VALUE_NAME_CHARS,
        extra_json_schema=shared_limits.NO_NUL,
    ),
]
Some = Annotated[list["QueryFilter"], Meta(min_length=1, max_length=limits.FILTER_PARTS)]
Values = Annotated[list[GivenValue], Meta(min_length=1, max_length=limits.COMPARED_VALUES)]

COMPARISON = Constraint(
    "Send `field` and `op` together, and `value` only with them.",
    ({"field": LEFT_OUT, "op": LEFT_OUT, "value": LEFT_OUT}, {"field": SENT, "op": SENT}),
    exclusive=True,
)
VALUE = Constraint("Send `value` with every `op` but `exists`.", ({"op": Is((None, "exists"))}, {"value": SENT}))


class QueryFilter(
    msgspec.Struct, forbid_unknown_fields=True, rename={"and_": "and", "or_": "or", "not_": "not"}, kw_only=True
):
    """Everything that is said must be so. A comparison has `field`, `op` and `value`."""

    constraints: ClassVar[Constraints] = (COMPARISON, VALUE)

    filename: Text | None = None
    """Only documents of exactly this name."""
    media_type: Text | None = None
    """Only documents of this media type."""
    created_after: Moment | None = None
    """Only documents uploaded then or later."""
    created_before: Moment | None = None
    """Only documents uploaded earlier."""
    signed: bool | None = None
    """Only files and certificates that were sealed in this workspace, known by their bytes; or only the others."""
    signer: Text | None = None
    """Only documents that this e-mail address was asked to sign, and that are completed."""
    source: Literal["upload", "document"] | None = None
    """Only what was uploaded, or only documents of the signing API."""
    and_: Some | None = None
    """Only documents that all of these filters let through."""
    or_: Some | None = None
    """Only documents that one of these filters lets through."""
    not_: "QueryFilter | None" = None
    """Only documents that this filter keeps out."""
    field: Field | None = None
    """What is compared: `filename`, `media_type`, `collection`, `status`, `source`, `created_at`, `signed`, `signer`,
    or `metadata.` and a name of the metadata."""
    op: Op | None = None
    """How it is compared; `in` takes a list of values, `exists` true or false."""
    value: GivenValue | Values | UnsetType = UNSET
    """What it is compared with. Values are compared with values of their kind; a text that is an ISO date is a date."""


def condition(wanted: QueryFilter) -> Condition:
    """What the filter asks of a document; BadRequest if it is too large, or compares what cannot be compared."""
    if len(list(islice(_parts(wanted, 1), limits.FILTER_PARTS + 1))) > limits.FILTER_PARTS:
        raise BadRequest(f"filter: it has more than {limits.FILTER_PARTS} parts")
    return _condition(wanted)


def _parts(wanted: QueryFilter, depth: int) -> Iterator[QueryFilter]:
    if depth > limits.FILTER_DEPTH:
        raise BadRequest(f"filter: it is nested deeper than {limits.FILTER_DEPTH} levels")
    yield wanted
    for inner in (*(wanted.and_ or ()), *(wanted.or_ or ()), *([wanted.not_] if wanted.not_ else [])):
        yield from _parts(inner, depth + 1)


def _condition(wanted: QueryFilter) -> Condition:
    said: list[Condition] = [*_flat(wanted), *_comparison(wanted)]
    said += [_condition(each) for each in wanted.and_ or ()]
    if wanted.or_:
        said.append(Either(tuple(_condition(each) for each in wanted.or_)))
    if wanted.not_:
        said.append(Not(_condition(wanted.not_)))
    return said[0] if len(said) == 1 else Every(tuple(said))


def _flat(wanted: QueryFilter) -> Iterator[Condition]:
    """Each of the fields that can be named by themselves."""
    given: list[tuple[str, Op, MetadataValue | None]] = [
        ("filename", "eq", wanted.filename),
        ("media_type", "eq", wanted.media_type),
        ("created_at", "gte", _instant("filter.created_after", wanted.created_after)),
        ("created_at", "lt", _instant("filter.created_before", wanted.created_before)),
        ("signed", "eq", wanted.signed),
        ("signer", "eq", wanted.signer),
        ("source", "eq", wanted.source),
    ]
    return (compare(field, op, value) for field, op, value in given if value is not None)


def _comparison(wanted: QueryFilter) -> Iterator[Condition]:
    if wanted.field is not None and wanted.op is not None:
        yield compare(wanted.field, wanted.op, True if wanted.value is UNSET else wanted.value)


def _instant(name: str, moment: datetime | None) -> str | None:
    known = timestamps.in_utc(name, moment)
    return None if known is None else instant(known)
