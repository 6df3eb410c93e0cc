"""A stored file sealed into a new one: the sandbox prepares it, this process signs it, and it is never held whole."""

import hashlib
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from deedbox.authority import pkcs11
from deedbox.authority.remote_timestamp import RemoteTimestamper, TimestampFailed
from deedbox.evidence import file as evidence
from deedbox.kernel import limits as shared_limits
from deedbox.kernel import log
from deedbox.kernel.blobs import Blob, Blobs, Incoming, ReceivedBlob
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.clock import Clock
from deedbox.kernel.sandbox import SandboxFailed, Sink
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.pades import Part, PendingSignature, PreparedSeal, SealIdentity, SealParameters
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.signing import limits
from deedbox.signing.model import Seal


class SealRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the seal is to tell: whose document, the head of its audit chain, and what a reader shows of it."""

    document_id: str
    audit_head: str
    name: str = ""
    reason: str = ""
    location: str = ""
    part: Part = "document"
    """A certificate has the server's own time-stamp: the configured authority is asked for the document's."""
    demand_timestamp: bool = False
    """Rather no seal than one without a time-stamp from the configured authority."""


class SealedOutcome(NamedTuple):
    received: ReceivedBlob
    seal: Seal
    identity: SealIdentity
    """What it was sealed with."""


class Identities(Protocol):
    """What there is to seal with."""

    async def seal_identity(self, workspace_id: str) -> SealIdentity: ...
    async def timestamper(self) -> Timestamper: ...


class Sealer:
    def __init__(
        self,
        blobs: Blobs,
        workshop: PdfSandbox,
        certificates: Identities,
        clock: Clock,
        remote: RemoteTimestamper | None = None,
    ) -> None:
        self._blobs = blobs
        self._workshop = workshop
        self._certificates = certificates
        self._clock = clock
        self._remote = remote

    @asynccontextmanager
    async def sealed(self, file: Blob, workspace_id: str, request: SealRequest) -> AsyncIterator[SealedOutcome]:
        """The file with its seal, durable, to be adopted before the end of this, and what the seal is worth.

        BadRequest or SandboxFailed if the file cannot be sealed; TimestampFailed if one was demanded in vain."""
        identity = await self._certificates.seal_identity(workspace_id)
        own = await self._certificates.timestamper()
        now = self._clock.now()
        async with self._blobs.receive(_most_bytes(file)) as incoming:
            half = _HeldBack(incoming)
            order = _order(identity, own, request, now, asked=self._asked(request))
            prepared = await self._prepare(file, order, half)
            signature = await _signed(half.digest(prepared), identity)
            token, foreign = await self._token(signature.digest, own, request, now)
            await half.finish(prepared, signature.with_timestamp(token))
            yield SealedOutcome(await incoming.finish(), self._worth(identity, foreign=foreign), identity)

    def _asked(self, request: SealRequest) -> bool:
        """Whether another authority is asked for the time-stamp."""
        return self._remote is not None and request.part == "document"

    async def _prepare(self, file: Blob, order: SealParameters, half: "_HeldBack") -> PreparedSeal:
        sink = Sink(_most_bytes(file), half.write)
        async with open_stream(self._blobs, file) as data:
            return await self._workshop.prepare_seal(data, order, sink)

    async def _token(self, digest: bytes, own: Timestamper, request: SealRequest, now: datetime) -> tuple[bytes, bool]:
        """A token, and whether the configured authority made it: when that fails, ours has to do."""
        if self._remote is not None and self._asked(request):
            try:
                return await self._remote.token(digest), True
            except TimestampFailed as failed:
                if request.demand_timestamp:
                    raise
                log.warning("a seal has no timestamp of the configured authority", reason=failed.message)
        return own.token(digest, now), False

    def _worth(self, identity: SealIdentity, *, foreign: bool) -> Seal:
        # Only of our own certificates do we have the CRLs that prove, in the file itself, that none was revoked.
        complete = bool(identity.crl_ders) and not foreign
        return Seal(
            level="B-LT" if complete else "B-T",
            timestamped=True,
            degraded=self._remote is not None and not foreign,
            certificate_fingerprint=identity.fingerprint,
        )


async def signed_evidence(told: evidence.Evidence, identity: SealIdentity) -> bytes:
    """The evidence file, for which the seal's certificate vouches."""
    digest = hashlib.sha256(evidence.vouched_bytes(told)).digest()
    signature = (await _signed(digest, identity)).with_timestamp(None)
    return evidence.encode(msgspec.structs.replace(told, signature=b64encode(signature).decode()))


async def _signed(digest: bytes, identity: SealIdentity) -> PendingSignature:
    return await pkcs11.with_key(identity, lambda: PendingSignature(digest, identity))


def _order(
    identity: SealIdentity, own: Timestamper, request: SealRequest, now: datetime, *, asked: bool
) -> SealParameters:
    token_bytes = max(own.most_bytes, shared_limits.TSA_TOKEN_BYTES) if asked else own.most_bytes
    return SealParameters(
        room=seal.room_for(identity, token_bytes),
        signed_at=now,
        certificates=[identity.certificate_der, *identity.chain_ders, *own.certificate_ders],
        crls=[*identity.crl_ders, *own.crl_ders],
        document_id=request.document_id,
        audit_head=request.audit_head,
        name=request.name,
        reason=request.reason,
        location=request.location,
        timestamp="any" if asked else "own",
        part=request.part,
    )


def _most_bytes(file: Blob) -> int:
    """What a sealed file can have: one that was in disorder is written anew, and may grow."""
    return 2 * file.size_bytes + limits.SEAL_ADDED_BYTES


class _HeldBack:
    """Takes a prepared file, all but its last piece, in which the gap is; hashes what it takes.

    The digest that a sandbox tells is not believed: what is signed is what was stored."""

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self._hash = hashlib.sha256()
        self._taken = 0
        self._last = b""

    async def write(self, piece: bytes) -> None:
        self._hash.update(self._last)
        self._taken += len(self._last)
        await self._incoming.write(self._last)
        self._last = piece

    def digest(self, prepared: PreparedSeal) -> bytes:
        """The digest of everything but the gap; SandboxFailed if the gap is not where it was said to be."""
        at, length, last = prepared.contents_at, prepared.contents_length, self._last
        gap = (0, at - 1, at + length + 1, self._taken + len(last) - (at + length + 1))
        if at - 1 != self._taken or prepared.byte_range != gap or last[: length + 2] != b"<%b>" % (b"0" * length):
            raise SandboxFailed("crashed")
        self._hash.update(last[length + 2 :])
        return self._hash.digest()

    async def finish(self, prepared: PreparedSeal, cms_der: bytes) -> None:
        """Stores the last piece with the signature in its gap."""
        digits = seal.hex_contents(prepared, cms_der)
        await self._incoming.write(b"<%b>" % digits + self._last[len(digits) + 2 :])
