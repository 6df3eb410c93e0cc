"""The documents that a workspace sees, in pages: walked by age in an index, whatever they are filtered by."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.db import Tx, Value, grams
from deedbox.signing.model import Document, Filter, Packet, PageRequest, Status
from deedbox.signing.store import documents
from deedbox.signing.store.filters import conditions_of

_MADE = "substr(signers.packet_id, 5, 10)"
"""When a packet was made, and each of its documents, as their ids have it: the indexes over people go by it."""
_WHOSE_TURN = "signers.email = :waits_for and signers.status in ('notified', 'viewed') and signers.role <> 'cc'"
"""An index holds such people and no others."""
_SIGNS = "signers.email = :signer_email"
_IS_THEIRS = "exists (select 1 from signers where signers.packet_id = documents.packet_id and {whose})"
WAITING_FOR = (
    "from signers cross join documents where signers.workspace_id = :workspace_id"
    f" and {_WHOSE_TURN} and documents.packet_id = signers.packet_id"
)
"""Of all documents, those where it is the turn of someone at this address."""
_FIRST, _LAST = "doc_", "doc_~~~~~~~~~~"
"""Before and after every id."""


def page(tx: Tx, workspace_id: str, wanted: Filter, part: PageRequest) -> list[tuple[Packet, Document]]:
    """Documents of the workspace that match, by age, each with its packet; that holds no others here.

    Searching titles costs more with every document: call it with `read_aside` then."""
    people = {"waits_for": wanted.waits_for, "signer_email": wanted.signer_email}
    values: dict[str, Value] = {name: email for name, email in people.items() if email is not None}
    values |= {f"status{number}": status for number, status in enumerate(wanted.statuses)}
    values["workspace_id"] = workspace_id
    # In two steps: what does not match is passed over in the index, without a look at the table.
    if wanted.waits_for is not None:
        more = [_IS_THEIRS.format(whose=_SIGNS)] if wanted.signer_email is not None else []
        return documents.alone(tx, _through_people(tx, [_WHOSE_TURN, *more], wanted, part, values))
    if wanted.signer_email is not None and not _are_few(tx, workspace_id, wanted.statuses):
        return documents.alone(tx, _through_people(tx, [_SIGNS], wanted, part, values))
    more = [_IS_THEIRS.format(whose=_SIGNS)] if wanted.signer_email is not None else []
    return documents.alone(tx, _through_documents(tx, more, wanted, part, values))


def _through_documents(
    tx: Tx, more: Sequence[str], wanted: Filter, part: PageRequest, values: Mapping[str, Value]
) -> list[str]:
    conditions, bounds = conditions_of(wanted, "documents", part)
    if wanted.q is not None:
        states = [f"status = :status{number}" for number, _ in enumerate(wanted.statuses)]
        named = grams.WantedRows("documents", "title_folded", documents.fold_title(wanted.q), conditions)
        named = named._replace(branches=states or ["true"], others=more, newest_first=part.newest_first)
        return grams.page(tx, str(values["workspace_id"]), named, part.limit, {**values, **bounds})
    matching = " and ".join(["documents.workspace_id = :workspace_id", *conditions, *more])
    some = f"order by id {_order(part)} limit :limit"
    sql = f"select id from documents where {matching} {some}"
    if wanted.statuses:
        # A part for each: the index holds each status by age, but not several.
        parts = [
            f"select id from (select id from documents where {matching} and status = :status{n} {some}) part{n}"
            for n, _ in enumerate(wanted.statuses)
        ]
        sql = f"select id from ({' union '.join(parts)}) parts {some}"
    return [row[0] for row in tx.all(sql, limit=part.limit, **values, **bounds)]


def _through_people(
    tx: Tx, whose: Sequence[str], wanted: Filter, part: PageRequest, values: Mapping[str, Value]
) -> list[str]:
    """The same by way of one person's rows, which lie in the order in which the documents were made."""
    start = part.cursor or (_LAST if part.newest_first else _FIRST)
    conditions, bounds = conditions_of(wanted, "documents", replace(part, cursor=start))
    signs = {"first_after": ">=", "first_before": "<=", "cursor": "<=" if part.newest_first else ">="}
    if wanted.q is not None:
        conditions.append("instr(documents.title_folded, :q) > 0")
        bounds["q"] = documents.fold_title(wanted.q)
    conditions += [f"{_MADE} {sign} substr(:{name}, 5, 10)" for name, sign in signs.items() if name in bounds]
    if wanted.statuses:
        conditions.append(f"documents.status in ({', '.join(f':status{n}' for n, _ in enumerate(wanted.statuses))})")
    order = _order(part)
    # The cross join tells SQLite where to begin.
    sql = (
        "select documents.id from signers cross join documents where documents.packet_id = signers.packet_id and"
        f" signers.workspace_id = :workspace_id and {' and '.join([*whose, *conditions])}"
        f" order by {_MADE} {order}, documents.id {order} limit :limit"
    )
    found: dict[str, None] = {}
    while True:
        rows = tx.all(sql, limit=part.limit, **values, **bounds)
        found |= dict.fromkeys(row[0] for row in rows)
        if len(rows) < part.limit or len(found) >= part.limit:
            return [*found][: part.limit]
        bounds["cursor"] = rows[-1][0]  # someone stands in a packet twice: not all of them were others


def _order(part: PageRequest) -> str:
    return "desc" if part.newest_first else "asc"


def _are_few(tx: Tx, workspace_id: str, statuses: Sequence[Status]) -> bool:
    """Whether the documents in these states are so few that each can be looked at."""
    if not statuses:
        return False
    parts = [
        f"select 1 from (select 1 from documents where workspace_id = :workspace_id and status = :status{n}"
        f" limit :most) part{n}"
        for n, _ in enumerate(statuses)
    ]
    values: dict[str, Value] = {f"status{number}": status for number, status in enumerate(statuses)}
    most = limits.COUNTED_MOST
    sql = f"select count(*) from ({' union all '.join(parts)}) parts"
    row = tx.one(sql, workspace_id=workspace_id, most=most, **values)
    return row is not None and row[0] < most
