"""What is released was verified by the strict reader, in the server itself: whatever its size, whoever prepared it."""

import subprocess
import sys
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import instant
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.verify.report import VerificationReport
from deedbox.pdf.verify.verify_pdf import verify
from deedbox.signing.completion import verify_sealed
from tests import server
from tests.pdf import issued as foreign
from tests.pdf import shapes
from tests.pdf.sealed import document
from tests.signing.test_seal import REQUEST, Desk, Impostor, desk

pytestmark = pytest.mark.anyio
__all__ = ["desk"]


async def sealed(desk: Desk, data: bytes) -> tuple[Blob, Blob]:
    """The file to be sealed, and the sealed one."""
    base = await desk.store(data)
    async with desk.sealer().sealed(base, desk.workspace, REQUEST) as done:
        return base, await desk.db.write(lambda tx: blobs_store.adopt(tx, done.received, "t", desk.clock.now()))


async def told(desk: Desk, file: Blob, base: Blob | None) -> VerificationReport:
    trusted = await desk.certificates.trusted(desk.workspace)
    return await verify_sealed.own_report(desk.blobs, file, base, trusted, now=desk.clock.now())


@pytest.mark.parametrize("data", [shapes.plain(), shapes.object_streams(), document(1, filler=3 * limits.MB)])
async def test_it_says_of_a_released_file_what_everybody_will_be_told(desk: Desk, data: bytes) -> None:
    base, file = await sealed(desk, data)
    found = await told(desk, file, base)
    assert (found.verdict, found.document_id, found.chain_head) == ("authentic", "doc_1", "cd" * 32)
    content = await desk.blobs.read(file.location, limits.BLOB_BYTES_MAX)
    trusted = await desk.certificates.trusted(desk.workspace)
    assert found == verify(content, trusted.roots, trusted.crls, instant(desk.clock.now()), trusted.timestamp_roots)


@pytest.mark.parametrize("at", [100, 2 * limits.MB, -10])
async def test_a_byte_that_the_disk_changed_is_seen_wherever_it_is(desk: Desk, at: int) -> None:
    _, file = await sealed(desk, document(1, filler=3 * limits.MB))
    content = bytearray(await desk.blobs.read(file.location, limits.BLOB_BYTES_MAX))
    content[at] ^= 1
    assert (await told(desk, await desk.store(bytes(content)), None)).verdict == "altered"


async def test_a_sandbox_that_seals_another_file_than_it_was_given_is_seen(desk: Desk) -> None:
    """It was taken over and writes other pages: what it made is truly signed, and is not released."""
    identity = await desk.certificates.seal_identity(desk.workspace)
    unit = await desk.certificates.timestamper()
    order = foreign.order(
        identity, document_id="doc_1", audit_head="cd" * 32, signed_at=desk.clock.now(), room=9000,
        certificates=[identity.certificate_der, *identity.chain_ders, *unit.certificate_ders],
    )  # fmt: skip
    pieces, place = foreign.prepared(document(1, "I owe nothing"), order)
    lie = {name: getattr(place, name) for name in place.__struct_fields__}
    desk.workshop = Impostor(pieces, lie)
    base, file = await sealed(desk, document(1, "An agreement"))
    desk.workshop = PdfSandbox(1)
    assert (await told(desk, file, None)).verdict == "authentic"
    found = await told(desk, file, base)
    assert (found.verdict, found.reasons) == (
        "altered",
        ["The file does not begin with the one that was to be sealed."],
    )


def test_the_server_loads_no_library_for_it(tmp_path: Path) -> None:
    """What reads strangers' PDFs belongs into sandboxes, and takes half a second to load."""
    code = "import sys, deedbox.signing.completion.finalize as _; print([m for m in sys.modules if m in sys.argv[1:]])"
    words = [sys.executable, "-c", code, "pyhanko", "pikepdf", "asn1crypto", "pyhanko_certvalidator"]
    done = subprocess.run(words, cwd=tmp_path, env=server.environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
