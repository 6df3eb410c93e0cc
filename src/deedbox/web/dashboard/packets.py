"""Packets for people who are signed in: documents that are signed together, their people, and what has happened."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.signing import parties
from deedbox.signing.model import Document, Filter, Packet, PageRequest
from deedbox.signing.store import audit, packet_list
from deedbox.web.dashboard import document_status, subject, timeline
from deedbox.web.dashboard.bulk import Done
from deedbox.web.dashboard.document import UNDER_WAY, default_forms, kindly, pressed_once
from deedbox.web.http import context, document_files, live, page_forms
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import no_content
from deedbox.web.http.query import QUERY


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
    part = PageRequest(limits.PAGE_DEFAULT + 1, asked.cursor or None)
    read = here.deedbox.db.read_aside if asked.q else here.deedbox.db.read
    found = await read(lambda tx: packet_list.page(tx, workspace, Filter(q=asked.q or None), part))
    shown, _, _, older = cursors.page(found, limits.PAGE_DEFAULT, lambda one: one.id)
    return app_page(
        request,
        "dashboard/packets/list.html",
        packets=shown,
        older=older,
        begun=bool(asked.cursor),
        q=asked.q,
        people=document_status.people,
        kinds=document_status.KINDS,
    )


@get("/app/packets/{packet_id:str}", opt=person("documents:read"), include_in_schema=False)
async def packet_page(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await shown(request, packet_id)


@get("/app/packets/{packet_id:str}/packet.zip", opt=person("documents:read"), include_in_schema=False)
async def packet_zip(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """All there is so far, a folder for each document."""
    return await document_files.packet_zip(request, packet_id)


@get("/app/packets/{packet_id:str}/certificate.pdf", opt=person("documents:read"), include_in_schema=False)
async def packet_certificate(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """The one certificate of all documents."""
    return await document_files.packet_certificate(request, packet_id)


async def shown(
    request: AnyRequest,
    packet_id: str,
    error: ServiceError | None = None,
    typed: Mapping[str, Any] | None = None,
) -> Response[Any]:
    """The page, with what could not be done and what was typed for it."""
    here = context.of(request)
    packet = await here.packet(packet_id)
    heads = await here.deedbox.db.read(lambda tx: audit.heads(tx, [one.id for one in packet.documents]))
    if live.has(request, packet, heads):
        return no_content(request)

    def look(tx: Tx) -> list[tuple[Document, Sequence[TrailEntry]]]:
        return [(one, audit.trail(tx, one.id)) for one in packet.documents]

    trails, now = await here.deedbox.db.read(look), here.deedbox.clock.now()
    slowest = _slowest(packet)
    return app_page(
        request,
        "dashboard/packets/one.html",
        error=kindly(error),
        address=f"/app/packets/{packet_id}",
        **subject.shown(packet, None),
        packet=packet,
        document=None,
        kinds=document_status.KINDS,
        sentence=document_status.sentence(packet, slowest, now),
        reason=document_status.reason(slowest),
        waiting=[*parties.waiting_for(packet)],
        stages=document_status.stages(packet),
        events=list_happenings(packet, trails),
        busy=packet.status in UNDER_WAY,
        typed={**default_forms(packet), **(typed or {})},
        once=page_forms.new_once(),
        # By what has happened so far: a live part is the same until more has.
        pressed_once=pressed_once(heads),
        mails=here.deedbox.mailer.delivers,
    )


def _slowest(packet: Packet) -> Document:
    """The document that keeps the packet back."""
    return next((one for one in packet.documents if one.status == packet.status), packet.first)


def list_happenings(packet: Packet, trails: Sequence[tuple[Document, Sequence[TrailEntry]]]) -> list[Happened]:
    """What the trails of all documents tell, in the order in which it happened; what happened to several at once, by
    the same hand, stands there once."""
    names = {signer.id: signer.name for _, signer in packet.signers()}
    found: dict[tuple[object, ...], list[tuple[Document, TrailEntry]]] = {}
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
    packet_zip,
    packet_certificate,
]
