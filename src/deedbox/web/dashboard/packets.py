"""Packets for people who are signed in: documents that are signed together, their people, and what has happened."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox import words
from deedbox.evidence.chain import Entry
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError
from deedbox.signing import parties
from deedbox.signing.actions.create_packet import prepared
from deedbox.signing.actions.delete import delete as delete_drafts
from deedbox.signing.actions.remind import remind
from deedbox.signing.actions.send import send
from deedbox.signing.actions.void import void
from deedbox.signing.desk import Desk
from deedbox.signing.model import Document, Filter, Message, Packet, Page
from deedbox.signing.new_document import Language, LoneSigner, NewFile, Title
from deedbox.signing.new_packet import NewPacket, NewPacketDocument
from deedbox.signing.paper.intake import RefusedFiles
from deedbox.signing.store import audit, packet_list
from deedbox.web.dashboard import standing, timeline
from deedbox.web.dashboard.bulk import Done
from deedbox.web.dashboard.rows import numbered, rows
from deedbox.web.frame import context, document_files, forms, page_files
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.app_pages import app_page, asks_for_page
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import person
from deedbox.web.frame.forms import text
from deedbox.web.frame.pages import go
from deedbox.web.frame.query import QUERY
from deedbox.words.dashboard import WORDS

_PERSON = ("name", "email", "order", "role", "language")
_PEOPLE_ROWS = 2


class PacketsQuery(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=limits.FILTER_CHARS)] = ""
    cursor: Annotated[str, cursors.of("pkt")] | UnsetType = UNSET
    done: Done = ""


class NewPacketForm(msgspec.Struct, frozen=True):
    title: Title
    people: Annotated[list[LoneSigner], Meta(min_length=1, max_length=limits.DOCUMENT_PARTIES)]
    subject: Annotated[str, Meta(max_length=limits.MESSAGE_SUBJECT_CHARS)] = ""
    body: Annotated[str, Meta(max_length=limits.MESSAGE_BODY_CHARS)] = ""
    language: Language = "en"


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


@get("/app/packets/new", opt=person("documents:send"), include_in_schema=False)
async def new_packet(request: AnyRequest) -> Response[Any]:
    return _new_page(request, FormMultiDict())


@post("/app/packets/new", opt=person("documents:send"), include_in_schema=False, request_max_body_size=None)
async def create_packet(request: AnyRequest) -> Response[Any]:
    """A draft of the packet, each file a document of its own; nothing leaves before *Send*."""
    here, form = context.of(request), FormMultiDict()
    office, mill = here.deedbox.office, here.deedbox.paper_mill
    try:
        async with page_files.filled(request, here.deedbox.blobs, limits.PACKET_DOCUMENTS) as given:
            form = given.form
            with forms.sending(request, form) as sent:
                if before := await sent.before():
                    return go(before)
                new = _asked(form, given.files)
                with forms.beside("file", RefusedFiles):
                    async with prepared(office, mill, new, [[file] for file in given.files]) as make:

                        def act(tx: Tx) -> str:
                            with here.desk(tx) as desk:
                                return f"/app/packets/{make(desk).id}?done=drafted"

                        return go(await sent.once(act))
    except DeedboxError as error:
        if error.status >= 500:
            raise
        if not asks_for_page(request):
            return forms.refusal(error)
        return _new_page(request, form, error)


@get("/app/packets/{packet_id:str}", opt=person("documents:read"), include_in_schema=False)
async def packet_page(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await _page(request, packet_id)


@post(
    "/app/packets/{packet_id:str}/send",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def send_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await _moved(request, packet_id, send, "sent")


@post(
    "/app/packets/{packet_id:str}/remind",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def remind_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    return await _moved(request, packet_id, remind, "reminded")


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
        return await _page(request, packet_id, forms.WrongForm({"reason": WORDS["packets_no_reason"]}))
    return await _moved(request, packet_id, lambda desk, packet: void(desk, packet, reason), "voided")


@post("/app/packets/{packet_id:str}/delete", opt=person("documents:send"), include_in_schema=False)
async def delete_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)

    def act(tx: Tx) -> None:
        with here.desk(tx) as desk:
            delete_drafts(desk, desk.packet(packet_id))

    await here.deedbox.db.write(act)
    return go("/app/packets?done=deleted")


@get("/app/packets/{packet_id:str}/packet.zip", opt=person("documents:read"), include_in_schema=False)
async def packet_zip(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """All there is so far, a folder for each document."""
    return await document_files.packet_zip(request, packet_id)


@get("/app/packets/{packet_id:str}/certificate.pdf", opt=person("documents:read"), include_in_schema=False)
async def packet_certificate(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """The one certificate of all documents."""
    return await document_files.packet_certificate(request, packet_id)


async def _moved(
    request: AnyRequest, packet_id: str, move: Callable[[Desk, Packet], Packet], done: str
) -> Response[Any]:
    """What is done to the packet, once however often its button is pressed."""
    here, form = context.of(request), await forms.form_of(request)
    await here.packet(packet_id)

    def act(tx: Tx) -> str:
        with here.desk(tx) as desk:
            move(desk, desk.packet(packet_id))
        return f"/app/packets/{packet_id}?done={done}"

    try:
        with forms.sending(request, form) as sent:
            return go(await sent.before() or await sent.once(act))
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return await _page(request, packet_id, error)


async def _page(request: AnyRequest, packet_id: str, error: DeedboxError | None = None) -> Response[Any]:
    here = context.of(request)
    packet = await here.packet(packet_id)

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
        count=sum(signer.role != "cc" for _, signer in packet.signers()),
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


def _asked(form: FormMultiDict, files: Sequence[NewFile]) -> NewPacket:
    people = rows(form, "people", ["name", "email"])
    typed = [{name: row.get(name, "") for name in _PERSON} for row in people]
    wrong = {} if files else {"file": WORDS["packets_no_file"]}
    try:
        told = forms.filled(numbered(form, {"people": typed}), NewPacketForm)
    except forms.WrongForm as error:
        raise forms.WrongForm({**error.wrong, **wrong}) from error
    if wrong:
        raise forms.WrongForm(wrong)
    return NewPacket(
        title=told.title,
        documents=[NewPacketDocument(title=page_files.called(file.name, limits.TITLE_CHARS)) for file in files],
        signers=told.people,
        message=Message(told.subject, told.body) if told.subject or told.body else None,
        language=told.language,
    )


def _new_page(request: AnyRequest, form: FormMultiDict, error: DeedboxError | None = None) -> Response[Any]:
    people = rows(form, "people", ["name", "email"])
    return app_page(
        request,
        "dashboard/packets/new.html",
        error=error,
        once=forms.new_once(),
        typed={name: text(form, name) for name in ("title", "subject", "body", "language")},
        people=[*people, *[{}] * max(_PEOPLE_ROWS - len(people), 1)],
        languages=words.NAMES,
        accept=page_files.ACCEPT,
        files_most=limits.PACKET_DOCUMENTS,
        tag="{{signature:Ann}}",
    )


ROUTES: list[Any] = [
    packet_rows,
    new_packet,
    create_packet,
    packet_page,
    send_packet,
    remind_packet,
    void_packet,
    delete_packet,
    packet_zip,
    packet_certificate,
]
