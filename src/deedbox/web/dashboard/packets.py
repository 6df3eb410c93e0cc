"""Packets for people who are signed in: documents that are signed together, their people, and what has happened."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.evidence.chain import Entry
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError
from deedbox.signing import parties
from deedbox.signing.actions.delete import delete as delete_drafts
from deedbox.signing.actions.remind import remind
from deedbox.signing.actions.void import void
from deedbox.signing.desk import Desk
from deedbox.signing.model import Document, Filter, Packet, Page
from deedbox.signing.store import audit, packet_list
from deedbox.web.dashboard import standing, timeline
from deedbox.web.dashboard.bulk import Done
from deedbox.web.frame import context, document_files, forms, live
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.app_pages import app_page
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import person
from deedbox.web.frame.forms import text
from deedbox.web.frame.pages import go, unchanged
from deedbox.web.frame.query import QUERY
from deedbox.words.dashboard import WORDS


class PacketsQuery(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=limits.FILTER_CHARS)] = ""
    cursor: Annotated[str, cursors.of("pkt")] | UnsetType = UNSET
    done: Done = ""


class Happened(NamedTuple):
    """Something that happened to some of the documents at once."""

    at: str
    said: str
    titles: Sequence[str]
    """Of the documents, unless it happened to all."""


@get("/app/packets", opt={**person("documents:read"), QUERY: PacketsQuery}, include_in_schema=False)
async def packet_rows(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    workspace, asked = here.caller.workspace_id, here.query
    part = Page(limits.PAGE_DEFAULT + 1, asked.cursor or None)
    found = await here.deedbox.db.read(lambda tx: packet_list.page(tx, workspace, Filter(q=asked.q or None), part))
    shown, _, _, older = cursors.page(found, limits.PAGE_DEFAULT, lambda one: one.id)
    return app_page(
        request,
        "dashboard/packets/list.html",
        packets=shown,
        older=older,
        begun=bool(asked.cursor),
        q=asked.q,
        people=standing.people,
        kinds=standing.KINDS,
    )


@get("/app/packets/{packet_id:str}", opt=person("documents:read"), include_in_schema=False)
async def packet_page(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await _page(request, packet_id)


@post(
    "/app/packets/{packet_id:str}/remind",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def remind_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await _pressed(request, packet_id, remind, f"/app/packets/{packet_id}?done=reminded")


@post(
    "/app/packets/{packet_id:str}/void",
    opt=person("documents:void"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def void_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """Withdraws all documents; whoever asks says why."""
    reason = text(await forms.form_of(request), "reason").strip()[: limits.REASON_CHARS]
    if not reason:
        return await _page(request, packet_id, forms.WrongForm({"reason": WORDS["fill_in"]}))
    path = f"/app/packets/{packet_id}?done=voided"
    return await _pressed(request, packet_id, lambda desk, packet: void(desk, packet, reason), path)


@post(
    "/app/packets/{packet_id:str}/delete",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def delete_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await _pressed(request, packet_id, delete_drafts, "/app/packets?done=deleted")


@get("/app/packets/{packet_id:str}/packet.zip", opt=person("documents:read"), include_in_schema=False)
async def packet_zip(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """All there is so far, a folder for each document."""
    return await document_files.packet_zip(request, packet_id)


@get("/app/packets/{packet_id:str}/certificate.pdf", opt=person("documents:read"), include_in_schema=False)
async def packet_certificate(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """The one certificate of all documents."""
    return await document_files.packet_certificate(request, packet_id)


async def _pressed(
    request: AnyRequest, packet_id: str, move: Callable[[Desk, Packet], object], path: str
) -> Response[Any]:
    """What is done to the packet, once however often its button is pressed; then on to the path."""
    here = context.of(request)

    def act(tx: Tx) -> str:
        with here.desk(tx) as desk:
            move(desk, desk.packet(packet_id))
        return path

    try:
        return go(await forms.pressed(request, act))
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return await _page(request, packet_id, error)


async def _page(request: AnyRequest, packet_id: str, error: DeedboxError | None = None) -> Response[Any]:
    here = context.of(request)
    packet = await here.packet(packet_id)
    heads = await here.deedbox.db.read(lambda tx: audit.heads(tx, [one.id for one in packet.documents]))
    if live.has(request, packet, heads):
        return unchanged(request)

    def look(tx: Tx) -> list[tuple[Document, Sequence[Entry]]]:
        return [(one, audit.trail(tx, one.id)) for one in packet.documents]

    trails, now = await here.deedbox.db.read(look), here.deedbox.clock.now()
    return app_page(
        request,
        "dashboard/packets/one.html",
        error=error,
        address=f"/app/packets/{packet_id}",
        packet=packet,
        kinds=standing.KINDS,
        sentence=standing.sentence(packet, _slowest(packet), now),
        everyone=standing.people(packet),
        events=happened(packet, trails),
        # By what has happened so far: what a live part asks for anew is the same until more has.
        once=f"{packet_id}.{sum(len(entries) for _, entries in trails)}",
        waiting={signer.id for signer in parties.waiting_for(packet)} if packet.status == "sent" else set(),
    )


def _slowest(packet: Packet) -> Document:
    """The document that keeps the packet back."""
    return next((one for one in packet.documents if one.status == packet.status), packet.first)


def happened(packet: Packet, trails: Sequence[tuple[Document, Sequence[Entry]]]) -> list[Happened]:
    """What the trails of all documents tell, in the order in which it happened; what happened to several at once, by
    the same hand, stands there once."""
    names = {signer.id: signer.name for _, signer in packet.signers()}
    found: dict[tuple[object, ...], list[tuple[Document, Entry]]] = {}
    for document, entries in trails:
        seen: Counter[tuple[object, ...]] = Counter()
        for entry in entries:
            this = (entry.at, entry.act, entry.actor, entry.detail.get("signer"))
            seen[this] += 1
            found.setdefault((*this, seen[this]), []).append((document, entry))
    # Of what happened in one moment, the rows of each trail tell the order.
    ordered = sorted(found.values(), key=lambda same: (same[0][1].at, max(entry.number for _, entry in same)))
    return [
        Happened(
            same[0][1].at,
            timeline.said(same[0][1], names),
            [document.title for document, _ in same] if len(same) < len(trails) else [],
        )
        for same in ordered
    ]


ROUTES: list[Any] = [
    packet_rows,
    packet_page,
    remind_packet,
    void_packet,
    delete_packet,
    packet_zip,
    packet_certificate,
]
