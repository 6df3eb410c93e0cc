"""Create: a document from its files, sent at once if that is asked for."""

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from deedbox.kernel import constraints, limits
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.kernel.mailbox import one_line
from deedbox.kernel.zones import checked_zone
from deedbox.pdf.marks.glyphs import need_printable
from deedbox.signing import sessions, states
from deedbox.signing.action_context import ActionContext, ActionScope, SigningServices
from deedbox.signing.actions import convert, send
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.model import Document, DocumentFile, Packet, Party, Signer, Source
from deedbox.signing.new_document import (
    PARTIES_OR_SIGNERS,
    QUORUM,
    ROLES,
    KnownParty,
    KnownSigner,
    LoneParty,
    NewDocument,
    NewFile,
    NewParty,
    NewSigner,
    end_of,
)
from deedbox.signing.preparation import OriginalFile, PreparedDocument
from deedbox.signing.preparation.placing import laid_out
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import documents

_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_CODE_GROUPS = 4
DEFAULT_LANGUAGE = "en"
_NO_CODES: HashedCodes = {}


@asynccontextmanager
async def prepare(
    services: SigningServices, preparation: DocumentPreparation, new: NewDocument, files: Sequence[NewFile]
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """What creates the document in a transaction, once its files have been through the sandboxes.

    Word and HTML are converted later, by a job: until then the document is `processing`."""
    originals = [OriginalFile(file.name, file.original.blob, file.password, new.signed_input) for file in files]
    if not originals:
        raise BadRequest("The document needs a file")
    title_of(new)
    ROLES.check(new)
    # Before the files, which take longer to refuse.
    send.need_mail_for_codes(named_parties(new), services.notifier)
    end_of(new.expires_at, services.clock.now())
    codes = await sessions.hashed_codes(named_parties(new))
    if await preparation.intake.takes_long(originals):
        yield lambda ctx: create(ctx, new, files, None, codes=codes)
        return
    async with preparation.paper(originals, new.parties or _lone_parties(new), new.fields) as paper:
        yield lambda ctx: create(ctx, new, files, paper, codes=codes)


def create(
    ctx: ActionContext,
    new: NewDocument,
    files: Sequence[NewFile],
    paper: PreparedDocument | None,
    source: Source = "api",
    codes: HashedCodes = _NO_CODES,
) -> Packet:
    """A packet of one document: a draft, sent if the request says so; without paper it waits for its conversion."""
    packet = new_packet(ctx, new, [made_file(file, ctx.now) for file in files], source, codes)
    after, blobs_received = packet, [file.original for file in files]
    if paper is not None:
        after = lay_out(packet, packet.first, paper, new, ctx.now)
        blobs_received.append(paper.pdf)
    draft = after
    if new.send and paper is not None:
        after = send.as_sent(draft, ctx.now)
    blobs.adopt_all(ctx.tx, blobs_received, packet.first.id, ctx.now)
    after = ctx.add(after, {packet.first.id: new.fields})
    if new.values:
        documents.ask_values(ctx.tx, packet.first.id, new.values)
    hashes = [file.sha256 for file in packet.first.files]
    ctx.record(after.first, "document.created", {"title": new.title, "files": hashes})
    if paper is None:
        convert.plan(ctx, after.first, send=new.send)
    elif new.send:
        send.announce(ctx, draft, after)
    return after


def named_parties(new: NewDocument) -> list[NewParty]:
    """The parties that are asked for; a lone signer is one that nobody named. BadRequest if they could never sign."""
    PARTIES_OR_SIGNERS.check(new)
    wanted = [*new.parties] or _lone_parties(new)
    check_parties(wanted)
    return wanted


def check_parties(parties: Sequence[NewParty]) -> None:
    """Raises BadRequest for parties that could never sign."""
    people = [(signer.address, signer.name) for party in parties for signer in party.signers]
    if len(people) > limits.DOCUMENT_SIGNERS:
        raise BadRequest(f"A document has at most {limits.DOCUMENT_SIGNERS} signers")
    need_told_apart(people)
    for party in parties:
        if not party.signers:
            raise BadRequest(f"The party {party.name} has no signers")
        able = sum(signer.role != "cc" for signer in party.signers)
        QUORUM.check(party, f"The party {party.name}")
        if party.quorum is not None and not 1 <= party.quorum <= able:
            raise BadRequest(f"The quorum of {party.name} must lie between 1 and its {able} signers")
        for signer in party.signers:
            need_printable(f"The name of {signer.email}", signer.name)
            if signer.time_zone is not None:
                checked_zone(signer.time_zone)
            constraints.check(signer, signer.email)
            need_long_code(signer.email, signer.access_code)


def need_long_code(email: str, code: str | None) -> None:
    """Raise BadRequest for an access code that is short without the spaces around it."""
    if code is not None and len(code.strip()) < limits.ACCESS_CODE_CHARS_MIN:
        raise BadRequest(
            f"{email}: access_code must have at least {limits.ACCESS_CODE_CHARS_MIN} characters beside the spaces"
            " around it"
        )


def need_told_apart(people: Sequence[tuple[str, str]]) -> None:
    """Raises BadRequest if two people with one address, as it is kept, have one name as well."""
    known = {(address, one_line(name).casefold()) for address, name in people}
    if len(known) != len(people):
        raise BadRequest("Two signers have the same e-mail address and the same name: one of the two must differ")


def made_parties(
    wanted: Sequence[NewParty],
    language: str,
    now: datetime,
    codes: HashedCodes = _NO_CODES,
    *,
    declared: bool = True,
) -> list[Party]:
    """The parties in the order in which they sign; of one order, as they were named."""
    in_turn = sorted(wanted, key=lambda party: party.order)
    return [_party(party, language, now, codes, declared=declared) for party in in_turn]


def new_packet(
    ctx: ActionScope, new: NewDocument, files: list[DocumentFile], source: Source, codes: HashedCodes
) -> Packet:
    """The packet of one document that is asked for, with nothing on its paper yet; nothing is stored."""
    packet_id = new_id("pkt", ctx.now)
    wanted, language = named_parties(new), new.language or DEFAULT_LANGUAGE
    return Packet(
        id=packet_id,
        workspace_id=ctx.workspace_id,
        lone=True,
        sender="",  # these three as the workspace has them when this is stored
        company="",
        sender_email=None,
        language=language,
        message=new.message,
        reminders=new.reminders,
        expires_at=end_of(new.expires_at, ctx.now),
        parties=made_parties(wanted, language, ctx.now, codes, declared=bool(new.parties)),
        documents=[
            Document(
                id=new_id("doc", ctx.now),
                workspace_id=ctx.workspace_id,
                packet_id=packet_id,
                title=title_of(new),
                status="processing",
                source=source,
                external_id=new.external_id,
                metadata=dict(new.metadata),
                files=files,
                require_timestamp=new.require_timestamp,
                signed_input=new.signed_input,
                created_at=ctx.at,
                updated_at=ctx.at,
                verification_code=_verification_code(),
            )
        ],
    )


def title_of(new: NewDocument) -> str:
    """Its title; BadRequest if it has none."""
    if new.title is None:
        raise BadRequest("title: missing")
    return new.title


def lay_out(packet: Packet, document: Document, paper: PreparedDocument, new: NewDocument, now: datetime) -> Packet:
    """The packet with this document of it, as it is asked for, on its paper."""
    draft = states.move(document, "lay_out", instant(now))
    return packet.with_document(laid_out(packet, draft, paper, new.fields, now, new.values))


def _lone_parties(new: NewDocument) -> list[NewParty]:
    return [NewParty(one.name, [one], one.order) for one in new.signers]


def made_file(file: NewFile, now: datetime) -> DocumentFile:
    """A file that came, before anything is known of its pages."""
    blob = file.original.blob
    return DocumentFile(new_id("fil", now), file.name, blob.sha256, blob.size_bytes)


def _party(party: NewParty, language: str, now: datetime, codes: HashedCodes, *, declared: bool) -> Party:
    declared = declared and not isinstance(party, LoneParty)
    party_id = (party.id if isinstance(party, KnownParty) else None) or new_id("pty", now)
    signers = [_signer(party_id, one, language, now, codes) for one in party.signers]
    return Party(party_id, party.name, party.order, party.rule, party.quorum, party.on_decline, declared, signers)


def _signer(party_id: str, one: NewSigner, language: str, now: datetime, codes: HashedCodes) -> Signer:
    return Signer(
        id=(one.id if isinstance(one, KnownSigner) else None) or new_id("sgn", now),
        party_id=party_id,
        name=one.name,
        email=one.address,
        language=one.language or language,
        auth=one.auth,
        access_code_hash=codes[one.address, one.name] if one.access_code else None,
        time_zone=one.time_zone,
        role=one.role,
        delegation=one.delegation,
    )


def _verification_code() -> str:
    """Short enough to be typed, too long to be guessed: 78 bits."""
    groups = ["".join(secrets.choice(_CODE_ALPHABET) for _ in range(4)) for _ in range(_CODE_GROUPS)]
    return "-".join(groups)
