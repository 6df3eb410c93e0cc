"""Convert: files become a paper that is known to hold a seal; those that take long are converted by a job."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from deedbox.kernel import jobs
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.jobs import Work
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.signing import limits, states
from deedbox.signing.action_context import SERVER, ActionContext, SigningServices, document_in
from deedbox.signing.actions import send
from deedbox.signing.actions.draw import draw_brought
from deedbox.signing.completion.rehearsal import Rehearsal
from deedbox.signing.model import Document, Packet, Party
from deedbox.signing.new_document import KnownField, NewField, NewParty
from deedbox.signing.preparation import (
    OriginalFile,
    Plan,
    Planner,
    PreparedDocument,
    PreparedDocumentFile,
    StoredPreparation,
)
from deedbox.signing.preparation.intake import Intake
from deedbox.signing.preparation.placing import laid_out
from deedbox.signing.store import documents

_KNOWN_FIELDS = msgspec.json.Decoder(list[KnownField])

CONVERT_JOB = "convert"


class DocumentPreparation:
    """Makes papers, and rehearses each of them: what cannot be sealed is refused before anyone is asked to sign it."""

    def __init__(self, intake: Intake, rehearsal: Rehearsal) -> None:
        self.intake = intake
        self._rehearsal = rehearsal

    @asynccontextmanager
    async def paper(
        self, originals: Sequence[OriginalFile], parties: Sequence[NewParty | Party], fields: Sequence[NewField]
    ) -> AsyncIterator[PreparedDocument]:
        """The paper of these files for these signers, until the end of this; BadRequest says why there can be none."""
        async with self.intake.paper(originals, parties, fields) as paper:
            await self._rehearsal.check(paper, fields)
            yield paper

    @asynccontextmanager
    async def planned(self, originals: Sequence[OriginalFile], planner: Planner) -> AsyncIterator[PreparedDocument]:
        """The paper of these files, with fields that are planned once it is known what they bring along."""
        async with self.intake.planned(originals, planner) as (paper, plan):
            await self._rehearsal.check(paper, plan.fields)
            yield paper

    async def rehearse_joined(self, files: Sequence[Blob]) -> None:
        """Raises BadRequest if the first, a paper, cannot be sealed with the others behind it."""
        await self._rehearsal.check_joined(files)

    @asynccontextmanager
    async def bare(
        self, originals: Sequence[OriginalFile]
    ) -> AsyncIterator[tuple[PreparedDocument, Sequence[PreparedDocumentFile]]]:
        """The paper of these files for nobody yet, and what each of them brings along."""
        brought = list[PreparedDocumentFile]()

        def planner(files: Sequence[PreparedDocumentFile]) -> Plan:
            brought.extend(files)
            return Plan((), ())

        async with self.planned(originals, planner) as paper:
            yield paper, brought


class UnpreparedDocument(NamedTuple):
    """A document whose paper is to be made, anew or for the first time."""

    packet: Packet
    document: Document
    originals: list[OriginalFile]
    asked: list[KnownField]
    values: dict[str, str]
    """Those that the sender gave, by the labels of fields."""


def find_unprepared(tx: Tx, packet: Packet, document: Document) -> UnpreparedDocument:
    """What the document's paper is made of."""
    # Of a draft that is made on the pages, form fields are fields too: there someone sees and moves them.
    form = document.source == "dashboard"
    originals = [
        OriginalFile(file.name, blobs.demand(tx, file.sha256), signed_input=document.signed_input, form=form)
        for file in document.files
    ]
    return UnpreparedDocument(
        packet, document, originals, asked_fields(tx, document), documents.asked_values(tx, document.id)
    )


def has_only_files(packet: Packet, document: Document) -> bool:
    """Whether the draft was begun on the pages with nothing but its files."""
    return document.source == "dashboard" and not packet.parties


def signing_on(packet: Packet, document: Document) -> list[Party]:
    """The parties whose people get a place to sign on the document if they have none."""
    return packet.parties if document.asks_all else []


def asked_fields(tx: Tx, document: Document) -> list[KnownField]:
    return _KNOWN_FIELDS.decode(documents.asked_fields(tx, document.id))


def plan(ctx: ActionContext, document: Document, *, send: bool) -> None:
    """The document is converted as soon as there is time for it."""
    jobs.enqueue(
        ctx.tx,
        jobs.NewJob(
            CONVERT_JOB,
            {"document_id": document.id, "send": send, "actor": ctx.actor},
            unique_key=f"{CONVERT_JOB}:{document.id}",
            workspace_id=document.workspace_id,
        ),
        now=ctx.now,
    )


def lay_out(
    ctx: ActionContext,
    packet: Packet,
    document: Document,
    paper: PreparedDocument | StoredPreparation,
    asked: Sequence[NewField],
    values: Mapping[str, str],
) -> Packet:
    """The packet with the draft on its paper; the one before is let go."""
    draft = states.move(document, "lay_out", ctx.at)
    laid = laid_out(packet, draft, paper, asked, ctx.now, values)
    if isinstance(paper, PreparedDocument):
        blobs.adopt(ctx.tx, paper.pdf, document.id, ctx.now)
    if document.paper_sha256 not in (None, laid.paper_sha256, *(file.sha256 for file in document.files)):
        blobs.release(ctx.tx, document.paper_sha256 or "", document.id, ctx.now)
    return packet.with_document(laid)


def fail(ctx: ActionContext, packet: Packet, document: Document, reason: str) -> None:
    """Nothing can be made of the files: the document says why, and that is its end and its packet's."""
    after, ended = packet, []
    for one in packet.documents:
        why = reason if one.id == document.id else f"{document.title}, of the same packet: {reason}"
        if one.status != "failed":
            failed = states.move(one, "fail", ctx.at, error=why)
            after = after.with_document(failed)
            ctx.record(failed, "document.failed", {"reason": why}, actor=SERVER)
            ended.append((failed, why))
    ctx.save(packet, after)
    for failed, why in ended:
        ctx.emit("document.failed", after, failed, reason=why)
    ctx.notifier.failed(ctx.tx, after, document, reason, now=ctx.now)


class Conversion:
    """The job that makes the papers of documents whose files must be converted first."""

    def __init__(self, services: SigningServices, preparation: DocumentPreparation) -> None:
        self._services, self._preparation = services, preparation

    async def run(self, work: Work) -> None:
        """The handler of convert jobs."""
        workspace_id, document_id = work.named("document_id")
        found = await self._services.db.read(lambda tx: _processing(tx, workspace_id, document_id))
        if found is None:
            return  # an attempt before this one has done it
        try:
            if work.job.attempts > limits.PREPARE_ATTEMPTS:
                raise BadRequest(
                    "The file could not be converted; it may be damaged. Save it as a PDF and upload that."
                )
            if has_only_files(found.packet, found.document):
                async with self._preparation.bare(found.originals) as (paper, brought):
                    await work.finish(lambda tx: self._begun(tx, work, found, (paper, brought)))
                return
            signing = signing_on(found.packet, found.document)
            async with self._preparation.paper(found.originals, signing, found.asked) as paper:
                await work.finish(lambda tx: self._converted(tx, work, found, paper))
        except (BadRequest, SandboxFailed) as error:
            reason = error.message
            await work.finish(lambda tx: self._failed(tx, found, reason))

    def _converted(self, tx: Tx, work: Work, found: UnpreparedDocument, paper: PreparedDocument) -> None:
        with self._services.action(tx, found.packet.workspace_id, str(work.job.payload["actor"])) as ctx:
            # As it is now: another document of the packet may have been converted meanwhile, or have failed.
            documents.hold(tx, found.packet.workspace_id, found.packet.id)
            waiting = _waiting(tx, found.packet.workspace_id, found.document.id)
            if waiting is None:
                return
            packet, document = waiting
            laid = lay_out(ctx, packet, document, paper, found.asked, found.values)
            if work.job.payload.get("send") and laid.status == "draft":
                laid = documents.take_sender(ctx.tx, laid)
                sent = send.as_sent(laid, ctx.now)
                ctx.save(packet, sent)
                send.announce(ctx, laid, sent)
            else:
                ctx.save(packet, laid)

    def _begun(
        self,
        tx: Tx,
        work: Work,
        found: UnpreparedDocument,
        made: tuple[PreparedDocument, Sequence[PreparedDocumentFile]],
    ) -> None:
        """As `_converted`, for a draft whose people come later: what its files bring along waits in its sketch."""
        paper, brought = made
        if _waiting(tx, found.packet.workspace_id, found.document.id) is None:
            return
        self._converted(tx, work, found, paper)
        draw_brought(tx, found.packet.workspace_id, found.document.id, brought, self._services.clock.now())

    def _failed(self, tx: Tx, found: UnpreparedDocument, reason: str) -> None:
        with self._services.action(tx, found.packet.workspace_id) as ctx:
            if waiting := _waiting(tx, found.packet.workspace_id, found.document.id):
                fail(ctx, *waiting, reason)


def _processing(tx: Tx, workspace_id: str, document_id: str) -> UnpreparedDocument | None:
    waiting = _waiting(tx, workspace_id, document_id)
    return find_unprepared(tx, *waiting) if waiting else None


def _waiting(tx: Tx, workspace_id: str, document_id: str) -> tuple[Packet, Document] | None:
    """The document in its packet, if it still waits for its paper."""
    packet = documents.packet_of(tx, workspace_id, document_id)
    document = document_in(packet, document_id) if packet is not None else None
    return (packet, document) if packet and document and document.status == "processing" else None
