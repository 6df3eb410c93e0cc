"""The certificate of completion as a file: printed, sealed like the document itself, and verified."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.blobs.stream import open_stream
from deedbox.pdf.marks.certificate_facts import CompletionCertificate
from deedbox.signing.action_context import SigningServices
from deedbox.signing.completion import facts, verify_sealed
from deedbox.signing.completion.certificate import Certified, completion, packet_completion
from deedbox.signing.completion.facts import Facts
from deedbox.signing.completion.seal import Sealer, SealRequest
from deedbox.signing.model import Document, Packet
from deedbox.signing.store.sealed import SealedHashes


class Certifier:
    def __init__(self, services: SigningServices, sealer: Sealer) -> None:
        self._services, self._sealer = services, sealer
        self._db, self._blobs = services.db, services.blobs

    async def images(self, known: Facts) -> dict[str, bytes]:
        """The drawn and uploaded signatures and initials, and the workspace's logo, by their hash."""
        made = [one for _, signer in known.packet.signers() for one in (signer.signature, signer.initials) if one]
        found = {}
        for sha256 in {one for one in (known.brand.logo_sha256, *(one.file_sha256 for one in made)) if one}:
            blob = await self._db.read(lambda tx, sha256=sha256: blobs.demand(tx, sha256))  # type: ignore[misc]
            found[sha256] = await self._blobs.read(blob.location, limits.SIGNATURE_IMAGE_BYTES)
        return found

    async def certificate(
        self, known: Facts, about: Certified, images: Mapping[str, bytes], completed_at: str, held: AsyncExitStack
    ) -> ReceivedBlob:
        """The sealed certificate, to be adopted while it is held."""
        document = known.document
        told = completion(known, about, images, self._services.address(), completed_at)
        printed = await self._printed(told, about, held)
        request = SealRequest(document_id=document.id, audit_head=about.head, name=known.brand.name, part="certificate")
        made = await held.enter_async_context(self._sealer.sealed(printed, document.workspace_id, request))
        await verify_sealed.demand_authentic(self._services, made.received.blob, printed, document, about.head)
        return made.received

    async def packet_certificate(
        self, packet: Packet, sealed: Sequence[tuple[Facts, SealedHashes]], completed_at: str, held: AsyncExitStack
    ) -> ReceivedBlob:
        """The one certificate of all documents, to be adopted while it is held.

        It is sealed like that of the first document, whose trail names it."""
        first, made = sealed[0]
        pictures = await self.images(first)
        told = packet_completion(sealed, pictures, self._services.address(), completed_at)
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        await self._services.workshop.certificate(b"", told, incoming.write)
        printed = await incoming.lend()
        name = first.brand.name
        request = SealRequest(document_id=first.document.id, audit_head=made.head, name=name, part="certificate")
        done = await held.enter_async_context(self._sealer.sealed(printed, packet.workspace_id, request))
        await verify_sealed.demand_authentic(self._services, done.received.blob, printed, first.document, made.head)
        return done.received

    async def certificate_again(self, document: Document, about: Certified, held: AsyncExitStack) -> ReceivedBlob:
        """The certificate of a document that is completed, for another sealed file of it."""
        known = await self._db.read(lambda tx: facts.gather(tx, document.workspace_id, document.id))
        known = facts.up_to(known, about.head)
        completed_at = document.completed_at or about.timestamped_at
        return await self.certificate(known, about, await self.images(known), completed_at, held)

    async def _printed(self, told: CompletionCertificate, about: Certified, held: AsyncExitStack) -> Blob:
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with open_stream(self._blobs, about.file) as data:
            await self._services.workshop.certificate(data, told, incoming.write)
        return await incoming.lend()
