"""Convert: files become a paper that is known to hold a seal; those that take long are converted by a job."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from deedbox.kernel import jobs, limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.jobs import Work
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.signing import states
from deedbox.signing.action_context import SERVER, Desk, Office, document_in
from deedbox.signing.actions import send
from deedbox.signing.actions.draw import draw_brought
from deedbox.signing.completion.rehearsal import Rehearsal
from deedbox.signing.model import Document, Packet, Party
from deedbox.signing.new_document import KnownField, NewField, NewParty
from deedbox.signing.preparation import Original, Paper, PaperFile, Plan, Planner, StoredPaper
from deedbox.signing.preparation.intake import Intake
from deedbox.signing.preparation.placing import laid_out
from deedbox.signing.store import documents

_KNOWN_FIELDS = msgspec.json.Decoder(list[KnownField])

CONVERT_JOB = "convert"


class PaperMill:
    """Makes papers, and rehearses each of them: what cannot be sealed is refused before anyone is asked to sign it."""

    def __init__(self, intake: Intake, rehearsal: Rehearsal) -> None:
        self.intake = intake
        self._rehearsal = rehearsal

    @asynccontextmanager
    async def paper(
        self, originals: Sequence[Original], parties: Sequence[NewParty | Party], fields: Sequence[NewField]
    ) -> AsyncIterator[Paper]:
        """The paper of these files for these signers, until the end of this; BadRequest says why there can be none."""
        async with self.intake.paper(originals, parties, fields) as paper:
            await self._rehearsal.check(paper, fields)
            yield paper

    @asynccontextmanager
    async def planned(self, originals: Sequence[Original], planner: Planner) -> AsyncIterator[Paper]:
        """The paper of these files, with fields that are planned once it is known what they bring along."""
        async with self.intake.planned(originals, planner) as (paper, plan):
            await self._rehearsal.check(paper, plan.fields)
            yield paper

    async def rehearse_joined(self, files: Sequence[Blob]) -> None:
        """Raises BadRequest if the first, a paper, cannot be sealed with the others behind it."""
        await self._rehearsal.check_joined(files)

    @asynccontextmanager
    async def bare(self, originals: Sequence[Original]) -> AsyncIterator[tuple[Paper, Sequence[PaperFile]]]:
        """The paper of these files for nobody yet, and what each of them brings along."""
        brought = list[PaperFile]()

        def planner(files: Sequence[PaperFile]) -> Plan:
            brought.extend(files)
            return Plan((), ())

        async with self.planned(originals, planner) as paper:
            yield paper, brought


class Unmade(NamedTuple):
    """A document whose paper is to be made, anew or for the first time."""

    packet: Packet
    document: Document
    originals: list[Original]
    asked: list[KnownField]
    values: dict[str, str]
    """Those that the sender gave, by the labels of fields."""


def unmade(tx: Tx, packet: Packet, document: Document) -> Unmade:
    """What the document's paper is made of."""
    # Of a draft that is made on the pages, form fields are fields too: there someone sees and moves them.
    form = document.source == "dashboard"
    originals = [
        Original(file.name, blobs.demand(tx, file.sha256), signed_input=document.signed_input, form=form)
        for file in document.files
    ]
    return Unmade(packet, document, originals, asked_fields(tx, document), documents.asked_values(tx, document.id))


def is_begun(packet: Packet, document: Document) -> bool:
    """Whether the draft was begun on the pages with nothing but its files."""
    return document.source == "dashboard" and not packet.parties


def signing_on(packet: Packet, document: Document) -> list[Party]:
    """The parties whose people get a place to sign on the document if they have none."""
    return packet.parties if document.asks_all else []


def asked_fields(tx: Tx, document: Document) -> list[KnownField]:
    return _KNOWN_FIELDS.decode(documents.asked_fields(tx, document.id))


def plan(desk: Desk, document: Document, *, send: bool) -> None:
    """The document is converted as soon as there is time for it."""
    jobs.enqueue(
        desk.tx,
        jobs.NewJob(
            CONVERT_JOB,
            {"document_id": document.id, "send": send, "actor": desk.actor},
            unique_key=f"{CONVERT_JOB}:{document.id}",
            workspace_id=document.workspace_id,
        ),
        now=desk.now,
    )


def lay_out(
    desk: Desk,
    packet: Packet,
    document: Document,
    paper: Paper | StoredPaper,
    asked: Sequence[NewField],
    values: Mapping[str, str],
) -> Packet:
    """The packet with the draft on its paper; the one before is let go."""
    draft = states.moved(document, "lay_out", desk.at)
    laid = laid_out(packet, draft, paper, asked, desk.now, values)
    if isinstance(paper, Paper):
        blobs.adopt(desk.tx, paper.pdf, document.id, desk.now)
    if document.paper_sha256 not in (None, laid.paper_sha256, *(file.sha256 for file in document.files)):
        blobs.release(desk.tx, document.paper_sha256 or "", document.id, desk.now)
    return packet.with_document(laid)


def fail(desk: Desk, packet: Packet, document: Document, reason: str) -> None:
    """Nothing can be made of the files: the document says why, and that is its end and its packet's."""
    after, ended = packet, []
    for one in packet.documents:
        why = reason if one.id == document.id else f"{document.title}, of the same packet: {reason}"
        if one.status != "failed":
            failed = states.moved(one, "fail", desk.at, error=why)
            after = after.with_document(failed)
            desk.record(failed, "document.failed", {"reason": why}, actor=SERVER)
            ended.append((failed, why))
    desk.save(packet, after)
    for failed, why in ended:
        desk.emit("document.failed", after, failed, reason=why)
    desk.notifier.failed(desk.tx, after, document, reason, now=desk.now)


class Conversion:
    """The job that makes the papers of documents whose files must be converted first."""

    def __init__(self, office: Office, mill: PaperMill) -> None:
        self._office, self._mill = office, mill

    async def run(self, work: Work) -> None:
        """The handler of convert jobs."""
        workspace_id, document_id = work.named("document_id")
        found = await self._office.db.read(lambda tx: _processing(tx, workspace_id, document_id))
        if found is None:
            return  # an attempt before this one has done it
        try:
            if work.job.attempts > limits.PREPARE_ATTEMPTS:
                raise BadRequest(
                    "The file could not be converted; it may be damaged. Save it as a PDF and upload that."
                )
            if is_begun(found.packet, found.document):
                async with self._mill.bare(found.originals) as (paper, brought):
                    await work.finish(lambda tx: self._begun(tx, work, found, (paper, brought)))
                return
            signing = signing_on(found.packet, found.document)
            async with self._mill.paper(found.originals, signing, found.asked) as paper:
                await work.finish(lambda tx: self._converted(tx, work, found, paper))
        except (BadRequest, SandboxFailed) as error:
            reason = error.message
            await work.finish(lambda tx: self._failed(tx, found, reason))

    def _converted(self, tx: Tx, work: Work, found: Unmade, paper: Paper) -> None:
        with self._office.desk(tx, found.packet.workspace_id, str(work.job.payload["actor"])) as desk:
            # As it is now: another document of the packet may have been converted meanwhile, or have failed.
            documents.hold(tx, found.packet.workspace_id, found.packet.id)
            waiting = _waiting(tx, found.packet.workspace_id, found.document.id)
            if waiting is None:
                return
            packet, document = waiting
            laid = lay_out(desk, packet, document, paper, found.asked, found.values)
            if work.job.payload.get("send") and laid.status == "draft":
                laid = documents.take_sender(desk.tx, laid)
                sent = send.as_sent(laid, desk.now)
                desk.save(packet, sent)
                send.announce(desk, laid, sent)
            else:
                desk.save(packet, laid)

    def _begun(self, tx: Tx, work: Work, found: Unmade, made: tuple[Paper, Sequence[PaperFile]]) -> None:
        """As `_converted`, for a draft whose people come later: what its files bring along waits in its sketch."""
        paper, brought = made
        if _waiting(tx, found.packet.workspace_id, found.document.id) is None:
            return
        self._converted(tx, work, found, paper)
        draw_brought(tx, found.packet.workspace_id, found.document.id, brought, self._office.clock.now())

    def _failed(self, tx: Tx, found: Unmade, reason: str) -> None:
        with self._office.desk(tx, found.packet.workspace_id) as desk:
            if waiting := _waiting(tx, found.packet.workspace_id, found.document.id):
                fail(desk, *waiting, reason)


def _processing(tx: Tx, workspace_id: str, document_id: str) -> Unmade | None:
    waiting = _waiting(tx, workspace_id, document_id)
    return unmade(tx, *waiting) if waiting else None


def _waiting(tx: Tx, workspace_id: str, document_id: str) -> tuple[Packet, Document] | None:
    """The document in its packet, if it still waits for its paper."""
    packet = documents.packet_of(tx, workspace_id, document_id)
    document = document_in(packet, document_id) if packet is not None else None
    return (packet, document) if packet and document and document.status == "processing" else None
