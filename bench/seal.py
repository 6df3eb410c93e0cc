"""Seals a second and core beside stock pyHanko and pdf-lib with @signpdf; then the whole way through disk; then 50 MB.

@signpdf does less than the other two: RSA, no time-stamp, no validation data, no lock against changes.

Usage: python -m bench.seal [--seals 200] [--rounds 5] [--no-peers] [--small]"""

import asyncio
import io
import logging
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pikepdf
from asn1crypto import crl as asn1_crl
from asn1crypto import keys as asn1_keys
from asn1crypto import tsp
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import signers
from pyhanko.sign.fields import MDPPerm, SigSeedSubFilter
from pyhanko.sign.timestamps import TimeStamper
from pyhanko.sign.validation.dss import DocumentSecurityStore
from pyhanko_certvalidator.registry import SimpleCertificateStore

from bench.measure import ROOT, cpu_seconds, median, temporary_folder
from bench.options import NOT_MEASURED, Options, tell
from deedbox.accounts import workspaces
from deedbox.authority import Certificates, issue
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.clock import SystemClock, stopwatch
from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.db.migrate import migrate_sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.pades import SealIdentity, SealParameters
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.signing.completion.seal import Sealer, SealRequest

AIM_TIMES, AIM_RATE = 8, 150
NOW = datetime.now(UTC).replace(microsecond=0)


class Hierarchy(NamedTuple):
    root: issue.Issued
    issuing: issue.Issued
    timestamp_unit: issue.Issued
    seal: issue.Issued
    crls: list[bytes]


def make_hierarchy() -> Hierarchy:
    root = issue.make_root("Bench", now=NOW)
    issuing = issue.issue_intermediate(root, "Bench", None, now=NOW)
    timestamp_unit = issue.make_timestamp_unit(root, "Bench", None, now=NOW)
    crls = [issue.make_crl(one, [], 1, issue.ROOT_CRL_LIFE, now=NOW) for one in (root, issuing)]
    return Hierarchy(root, issuing, timestamp_unit, issue.make_seal(issuing, "Bench", None, now=NOW), crls)


def make_pdf(size: int) -> bytes:
    """A PDF of about that many bytes, most of them in streams that do not shrink."""
    luck, pdf = random.Random(size), pikepdf.new()
    pages = max(1, min(100, size // 10_000))
    for number in range(pages):
        page = pdf.add_blank_page(page_size=(595, 842))
        page.Contents = pdf.make_stream(f"BT /F1 12 Tf 72 720 Td (Page {number}) Tj ET".encode())
        image = pdf.make_stream(luck.randbytes(size // pages))
        image.stream_dict.update(pikepdf.Dictionary(Type=pikepdf.Name.XObject))
        page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=image))
    out = io.BytesIO()
    pdf.save(out, compress_streams=False)
    return out.getvalue()


def ours(data: bytes, issued: Hierarchy) -> Callable[[], bytes]:
    """One seal as the product makes it, sandbox and disk left out."""
    identity = SealIdentity(issued.seal.key, issued.seal.der, [issued.issuing.der, issued.root.der], issued.crls)
    unit = Timestamper(CmsSigner(issued.timestamp_unit.key, issued.timestamp_unit.der))
    certificates = [one.der for one in (issued.root, issued.issuing, issued.timestamp_unit, issued.seal)]
    room = seal.room_for(identity, unit.most_bytes)

    def once() -> bytes:
        order = SealParameters(room=room, signed_at=NOW, certificates=certificates, crls=issued.crls)
        pieces, steps = [], seal.prepare(data, order)
        while True:
            try:
                pieces.append(next(steps))
            except StopIteration as end:
                place = end.value
                break
        digits = seal.hex_contents(place, seal.cms_for(place.digest, identity, unit, NOW))
        return b"".join([*pieces[:-1], b"<", digits, pieces[-1][len(digits) + 1 :]])

    return once


class InProcess(TimeStamper):
    """Our unit behind pyHanko's interface: its own for tests knows RSA only."""

    def __init__(self, unit: Timestamper) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._unit = unit

    async def async_request_tsa_response(self, req: tsp.TimeStampReq) -> tsp.TimeStampResp:
        return tsp.TimeStampResp.load(self._unit.answer(req.dump(), NOW))


def stock(data: bytes, issued: Hierarchy) -> Callable[[], bytes]:
    """The same seal by pyHanko's own writer and builder; its time-stamps come from our unit, in process."""
    root, issuing, timestamp_unit, own = (
        asn1_x509.Certificate.load(one.der) for one in (issued.root, issued.issuing, issued.timestamp_unit, issued.seal)
    )
    crls = [asn1_crl.CertificateList.load(crl) for crl in issued.crls]
    registry = SimpleCertificateStore()  # type: ignore[no-untyped-call]
    registry.register_multiple([issuing])
    signer = signers.SimpleSigner(own, asn1_keys.PrivateKeyInfo.load(issued.seal.key_der), registry)
    timestamper = InProcess(Timestamper(CmsSigner(issued.timestamp_unit.key, issued.timestamp_unit.der)))
    metadata = signers.PdfSignatureMetadata(
        field_name="Seal",
        md_algorithm="sha256",
        subfilter=SigSeedSubFilter.PADES,
        certify=True,
        docmdp_permissions=MDPPerm.NO_CHANGES,
    )

    def once() -> bytes:
        writer = IncrementalPdfFileWriter(io.BytesIO(data))
        DocumentSecurityStore.supply_dss_in_writer(writer, None, certs=[root, issuing, timestamp_unit, own], crls=crls)
        made = signers.PdfSigner(metadata, signer, timestamper=timestamper).sign_pdf(writer)
        return bytes(made.getvalue())

    return once


def rate(once: Callable[[], bytes], seals: int) -> float:
    """Seals a second of one core."""
    begun = time.process_time()
    for _ in range(seals):
        once()
    return seals / (time.process_time() - begun)


def make_p12() -> bytes:
    """An RSA key with a certificate signed by itself: the only kind that @signpdf takes, packed as it reads it."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Bench")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(1).not_valid_before(NOW)
    certificate = builder.not_valid_after(NOW + issue.ROOT_CRL_LIFE).sign(key, hashes.SHA256())
    packing = (
        serialization.PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(2048)
        .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
        .hmac_hash(hashes.SHA1())
        .build(b"bench")
    )
    return pkcs12.serialize_key_and_certificates(b"bench", key, certificate, None, packing)


@contextmanager
def signpdf(data: bytes) -> Iterator[Callable[[int], float]]:
    """Signatures a second of one core by pdf-lib and @signpdf, in a process of Node's that stays."""
    setup = subprocess.run([str(ROOT / "scripts" / "setup"), "bench-node"], check=False)
    if setup.returncode != 0:
        raise SystemExit("The peer pdf-lib needs node and npm: on Debian, sudo apt-get install nodejs npm")
    with temporary_folder() as folder:
        (folder / "in.pdf").write_bytes(data)
        (folder / "key.p12").write_bytes(make_p12())
        words = ["node", "seal.mjs", *(str(folder / name) for name in ("in.pdf", "key.p12", "out.pdf"))]
        peer = ROOT / "bench" / "peers" / "pdf_lib"
        with subprocess.Popen(words, cwd=peer, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            asked, told = child.stdin, child.stdout
            assert asked is not None
            assert told is not None

            def signatures(count: int) -> float:
                asked.write(f"{count}\n")
                asked.flush()
                return count / float(told.readline())

            signatures(1)
            assert (folder / "out.pdf").stat().st_size > len(data)
            yield signatures
            asked.close()


class Installation:
    """What sealing needs of a server, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.clock = SystemClock()
        migrate_sqlite(folder / "deedbox.sqlite", NOW)
        create_key_file(folder / "master.key")
        self.db = SqliteDatabase(folder / "deedbox.sqlite")
        self.blobs = LocalBlobs(folder / "blobs")
        self.workshop = PdfSandbox(1)
        self.certificates = Certificates(self.db, ValueCipher(folder / "master.key"), self.clock, None)
        self.sealer = Sealer(self.blobs, self.workshop, self.certificates, self.clock)
        self.workspace = ""

    async def store(self, data: bytes) -> Blob:
        async with self.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            await incoming.write(data)
            received = await incoming.finish()
            return await self.db.write(lambda tx: blobs_store.adopt(tx, received, "bench", NOW))

    async def seal(self, file: Blob) -> None:
        async with self.sealer.sealed(file, self.workspace, SealRequest(document_id="doc", audit_head="")) as done:
            await self.db.write(lambda tx: blobs_store.adopt(tx, done.received, "bench", NOW))

    @property
    def child(self) -> int:
        [child] = next(one for one in self.workshop._sandboxes if one.kind.name == "pages")._idle
        return int(child.pid)


def peak_mb(pid: int | str) -> float:
    """The most memory that the process ever had, as the kernel counts it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def forgotten_peak_mb() -> float:
    """The memory that this process has now; from here on its peak is counted anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_mb("self")


async def whole_way(seals: int, small: bytes, megabytes: int) -> None:
    with temporary_folder() as folder:
        here = Installation(folder)
        here.workspace = (await here.db.write(lambda tx: workspaces.ensure(tx, now=NOW))).id
        file = await here.store(small)
        await here.seal(file)
        cpu, begun = cpu_seconds(os.getpid()) + cpu_seconds(here.child), stopwatch()
        for _ in range(seals):
            await here.seal(file)
        seconds = stopwatch() - begun
        cpu = cpu_seconds(os.getpid()) + cpu_seconds(here.child) - cpu
        print(
            f"through sandbox, disk (fsync) and database, one after the other: {seals / seconds:6.0f}/s,"
            f" {cpu / seals * 1000:.2f} ms of CPU each (server and sandbox)"
        )
        large = await here.store(make_pdf(megabytes * limits.MB))
        before, begun = forgotten_peak_mb(), stopwatch()
        await here.seal(large)
        seconds, more, child = stopwatch() - begun, peak_mb("self") - before, peak_mb(here.child)
        print(
            f"{megabytes} MB: {seconds:.2f} s; at most {child:.0f} MB in the sandbox, {more:.0f} MB more in the server"
        )
        await here.workshop.close()
        await here.db.close()


def in_turns(small: bytes, issued: Hierarchy, wish: Any) -> dict[str, float]:
    """The rates of deedbox, stock pyHanko and pdf-lib with @signpdf, measured one after the other in every round."""
    makers = {"deedbox": ours(small, issued), "pyHanko": stock(small, issued)}
    few = max(1, wish.seals // 10)
    with signpdf(small) if wish.peers else nullcontext() as node:
        turns: dict[str, Callable[[], float]] = {
            "deedbox": lambda: rate(makers["deedbox"], wish.seals),
            "pyHanko": lambda: rate(makers["pyHanko"], few),
        }
        if node is not None:
            turns["signpdf"] = lambda: node(few)
        for once in makers.values():
            once()
        rounds = [{name: turn() for name, turn in turns.items()} for _ in range(wish.rounds)]
    return {name: median([one[name] for one in rounds]) for name in turns}


def main() -> None:
    options = Options(__doc__, peers="pdf-lib with @signpdf")
    options.size("seals", 200, small=5)
    options.size("rounds", 5, small=1)
    options.size("megabytes", 50, small=1, help="of the large file")
    wish = options.wish()
    logging.disable(logging.CRITICAL)
    issued, small = make_hierarchy(), make_pdf(12_300)
    rates = in_turns(small, issued, wish)
    mine, theirs = rates["deedbox"], rates["pyHanko"]
    print(f"{len(small) / 1000:.0f} KB, P-256, PAdES B-LT in one revision, seals a second and core:")
    print(f"deedbox {mine:6.0f}   stock pyHanko {theirs:6.1f}   {mine / theirs:.0f} times as fast")
    node = NOT_MEASURED
    if wish.peers:
        node = f"{rates['signpdf']:.1f}"
        print(f"{'':16}pdf-lib + @signpdf {node:>6}   {mine / rates['signpdf']:.0f} times as fast; it signs with RSA")
    tell(wish, rate=f"{mine:,.0f}", size=f"{len(small) / 1000:.0f} KB", pyhanko=f"{theirs:.1f}", signpdf=node)
    asyncio.run(whole_way(wish.seals, small, wish.megabytes))
    if wish.small:  # too few for an aim
        return
    if mine < AIM_RATE or mine / theirs < AIM_TIMES:
        raise SystemExit(f"below the aim of {AIM_RATE}/s and {AIM_TIMES} times")


if __name__ == "__main__":
    main()
