"""What happened to a document, row by row: when, what, who, from where, and the hash that ties it to all before."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from deedbox.accounts import store
from deedbox.evidence.chain import TrailEntry
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel.db import Tx
from deedbox.signing.action_context import SERVER
from deedbox.signing.model import Packet
from deedbox.signing.trail import VerifiedTrails
from deedbox.web import limits
from deedbox.web.dashboard import device


class TimelineLine(NamedTuple):
    number: int
    at: str
    said: str
    actor: str
    address: str
    device: str
    agent: str
    """What the browser says of itself, in full."""
    note: str
    """What someone wrote: why they declined, for example."""
    hash: str
    broken: bool


class Timeline(NamedTuple):
    lines: list[TimelineLine]
    """The newest first."""
    rows: int
    """How many there are in all."""
    broken_at: int | None
    cut: bool
    """Whether rows at its end are missing."""
    older: int | None
    """Before which row the page that follows begins."""


def look(tx: Tx, checks: VerifiedTrails, packet: Packet, document_id: str, before: int | None) -> Timeline:
    """A page of the trail, all of which is checked."""
    part, has_more, rows, broken_at = checks.look(tx, document_id, before, limits.TIMELINE_ROWS)
    names = {signer.id: signer.name for _, signer in packet.signers()} | {SERVER: WORDS["actor_server"]}
    unknown = {entry.actor for entry in part} - names.keys()
    names |= store.names_of(tx, packet.workspace_id, sorted(unknown))
    lines = [_line(entry, names, broken_at) for entry in reversed(part)]
    cut = broken_at is not None and broken_at > rows
    return Timeline(lines, rows, broken_at, cut, part[0].number if has_more else None)


def _line(entry: TrailEntry, names: Mapping[str, str], broken_at: int | None) -> TimelineLine:
    detail: Mapping[str, Any] = entry.detail
    agent = _text(detail, "user_agent")
    return TimelineLine(
        entry.number,
        entry.at,
        said(entry, names),
        names.get(entry.actor, entry.actor),
        _text(detail, "address"),
        device.describe(agent),
        agent,
        _text(detail, "reason"),
        entry.hash,
        entry.number == broken_at,
    )


def said(entry: TrailEntry, names: Mapping[str, str]) -> str:
    """The act in words; by its own name where a row that is not ours has one that nobody knows."""
    act = entry.act.replace(".", "_")
    if f"act_{act}" not in WORDS:
        return entry.act
    signer = str(entry.detail.get("signer", entry.actor))
    name = _text(entry.detail, "name") or names.get(signer, signer)
    return WORDS[f"act_{act}"].format(person=name, page=entry.detail.get("page", ""))


def _text(detail: Mapping[str, Any], name: str) -> str:
    found = detail.get(name)
    return found if isinstance(found, str) else ""
