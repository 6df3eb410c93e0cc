"""A condition as one piece of SQL that both databases take."""

from collections.abc import Sequence
from typing import NamedTuple

from deedbox.kernel.db import Value
from deedbox.search.conditions import METADATA, Comparison, Condition, Every, Not, Op
from deedbox.search.library.filing import Key

_SIGNS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

# Seen when it is asked: a file may be uploaded before or after the server learns that it was sealed here.
IS_SEALED = (
    "exists (select 1 from sealed_hashes"
    " where sealed_hashes.workspace_id = u.workspace_id and sealed_hashes.sha256 = coalesce(f.sha256, u.sha256))"
)
FIELDS = {
    "filename": "coalesce(f.filename, u.filename)",
    "media_type": "coalesce(f.media_type, u.media_type)",
    "collection": "u.collection",
    "status": "u.status",
    "source": "case when u.document_id is null then 'upload' else 'document' end",
    "created_at": "substr(u.created_at, 1, 19) || '.000000'",
    "signed": f"case when {IS_SEALED} then 1 else 0 end",
}
"""The value of upload `u`, whose replaced file `f` may still answer, as values of the field's kind are compared."""

# In two lists that are made once, not for every upload: a sealed file may be uploaded by hand too.
_SIGNED_BY = (
    "select {column} from signers join documents on documents.packet_id = signers.packet_id"
    " join sealed_files on sealed_files.document_id = documents.id"
    " where signers.workspace_id = :workspace_id and signers.email {compared}"
)

_WITH_VALUE = "select v.upload_id from upload_values v where v.workspace_id = :workspace_id and v.name = {name}"


class Where(NamedTuple):
    """What the upload `u` has to be, of the workspace `:workspace_id`; `f` is its replaced file that still answers."""

    sql: str
    values: dict[str, Value]


def where(condition: Condition) -> Where:
    writer = _Writer()
    return Where(writer.write(condition), writer.values)


class _Writer:
    """Writes conditions, and gives each of their values a name."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}

    def write(self, condition: Condition) -> str:
        if isinstance(condition, Comparison):
            return self._comparison(condition)
        if isinstance(condition, Not):
            return f"not {self.write(condition.of)}"
        parts = [self.write(each) for each in condition.of]
        if isinstance(condition, Every):
            return f"({' and '.join(parts)})" if parts else "(1 = 1)"
        return f"({' or '.join(parts)})" if parts else "(1 = 0)"

    def _comparison(self, wanted: Comparison) -> str:
        if wanted.op == "ne":
            return f"not {self._comparison(Comparison(wanted.field, 'eq', wanted.keys))}"
        if wanted.field.startswith(METADATA):
            return self._of_metadata(wanted)
        if wanted.field == "signer":
            return self._signed_by(self._compared(wanted.op, wanted.keys))
        if wanted.op == "exists":
            return "(1 = 1)" if wanted.keys[0].number else "(1 = 0)"  # no document lacks these
        return f"({FIELDS[wanted.field]} {self._compared(wanted.op, wanted.keys)})"

    def _of_metadata(self, wanted: Comparison) -> str:
        rows = _WITH_VALUE.format(name=self._named(wanted.field.removeprefix(METADATA)))
        if wanted.op == "exists":
            return f"(u.id {'in' if wanted.keys[0].number else 'not in'} ({rows}))"
        # A value is compared with those of its kind only.
        kinds = dict.fromkeys(key.kind for key in wanted.keys)
        each = [self._of_kind(wanted.op, [key for key in wanted.keys if key.kind == kind]) for kind in kinds]
        return f"(u.id in ({rows} and ({' or '.join(each)})))"

    def _of_kind(self, op: Op, keys: Sequence[Key]) -> str:
        column = "v.text" if keys[0].number is None else "v.number"
        return f"v.kind = {self._named(keys[0].kind)} and {column} {self._compared(op, keys)}"

    def _signed_by(self, compared: str) -> str:
        documents = _SIGNED_BY.format(column="documents.id", compared=compared)
        files = _SIGNED_BY.format(column="sealed_files.sha256", compared=compared)
        sealed = f"coalesce(f.sha256, u.sha256) in ({files})"
        return f"((u.document_id is not null and u.document_id in ({documents})) or {sealed})"

    def _compared(self, op: Op, keys: Sequence[Key]) -> str:
        names = [self._named(key.text if key.number is None else key.number) for key in keys]
        return f"in ({', '.join(names)})" if op == "in" else f"{_SIGNS[op]} {names[0]}"

    def _named(self, value: Value) -> str:
        name = f"c{len(self.values)}"
        self.values[name] = value
        return f":{name}"
