"""Verify the archive: that it still has each package with its seal and proof, and the roots over them."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Literal

import msgspec

from deedbox.archive import check, limits, merkle, package, proofs, store
from deedbox.archive.archive import ArchiveService
from deedbox.archive.check import PackageContents
from deedbox.archive.package import ManifestKey
from deedbox.archive.receipt import ArchiveRow, PackageReceipt, Tree
from deedbox.archive.spool import SpooledFile, pieces, spool
from deedbox.archive.targets import ArchiveTarget, fetch
from deedbox.evidence import file as evidence
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.errors import BadRequest, NotFound, ServiceError, Unavailable
from deedbox.kernel.sandbox import Stream
from deedbox.pdf.verify import evidence_signature
from deedbox.pdf.verify.judge import Anchors
from deedbox.pdf.verify.report import VerificationReport
from deedbox.pdf.verify.standalone_timestamp import TokenReport


class ArchiveVerdict(msgspec.Struct, frozen=True):
    """The verdict on one package, or on one root."""

    kind: Literal["package", "root"]
    name: str
    problem: str | None = None
    unseen: str | None = None
    """Why it was not looked at."""
    other_key: bool = False
    """Whole, but authenticated with another key."""
    proven: bool = False
    """A time-stamp that is trusted vouches for it: of a package, that of its root."""


class ArchiveVerification:
    """One look at the archive; a root that was judged in it is not judged again."""

    def __init__(self, archive: ArchiveService, target: ArchiveTarget, key: ManifestKey) -> None:
        self._archive, self._db, self._target, self._key = archive, archive.db, target, key
        self._roots: dict[int, ArchiveVerdict] = {}

    async def all(self, tell: Callable[[ArchiveVerdict], None]) -> None:
        """Every package and every root, one after the other."""
        after = ""
        while rows := await self._db.read(lambda tx, after=after: store.list_complete(tx, after, limits.ARCHIVE_BATCH)):  # type: ignore[misc]
            for row in rows:
                tell(await self._one(row))
            after = rows[-1].document_id
        last = await self._db.read(store.last_tree)
        for number in range(1, last.number + 1 if last else 1):
            tell(await self._root(number))

    async def document(self, row: ArchiveRow, tell: Callable[[ArchiveVerdict], None]) -> None:
        """One package, and the root over it if there is one."""
        tell(await self._one(row))
        if row.tree is not None:
            tell(await self._root(row.tree))

    async def _one(self, row: ArchiveRow) -> ArchiveVerdict:
        name, receipt = row.bag.name, row.receipt
        if receipt is None:
            return ArchiveVerdict("package", name, problem="It is not archived")
        if receipt.location != self._target.location(name):
            return ArchiveVerdict("package", name, unseen=_elsewhere(receipt.location))
        try:
            inside = await self._package(row, name, receipt)
            proven = await self._proof(row, name, receipt)
        except Unavailable as error:  # an archive that refuses or is away says nothing of what it holds
            return ArchiveVerdict("package", name, unseen=error.message)
        except ServiceError as error:
            return ArchiveVerdict("package", name, problem=error.message)
        return ArchiveVerdict("package", name, other_key=inside.authenticated is None, proven=proven)

    async def _package(self, row: ArchiveRow, name: str, receipt: PackageReceipt) -> PackageContents:
        async with spool(self._archive.folder) as out:
            await self._target.fetch(name, out.write, receipt.version)
            held = await out.finish()
            inside = await asyncio.to_thread(check.contents, held.file, held.size_bytes, row.document_id, self._key)
            if (held.sha256, held.size_bytes) != (receipt.sha256, receipt.size_bytes):
                raise BadRequest("The package is whole, but not the one that the receipt names")
            if receipt.key_id not in (None, inside.key_id):
                raise BadRequest("The package is authenticated with a different key from the one in the receipt")
            await self._sealed(row, held, inside)
            return inside

    async def _sealed(self, row: ArchiveRow, held: SpooledFile, inside: PackageContents) -> None:
        """BadRequest unless the sealed file is authentic, and evidence and time-stamp are those of it."""
        roots, crls, timestamp_roots = await self._archive.authority.trusted(row.workspace_id)
        sealed, now = _stream(held, inside, package.SEALED_PDF), instant(self._archive.clock.now())
        found = await self._archive.workshop.run(
            "deedbox.pdf.verify.verify_pdf:verify", sealed, roots, crls, now, timestamp_roots
        )
        report = msgspec.convert(found, VerificationReport)
        if (report.verdict, report.document_id) != ("authentic", row.document_id):
            raise BadRequest(
                f"The sealed file is {report.verdict}: {' '.join(report.reasons) or 'of another document'}"
            )
        beside = inside.payload.get(package.TIMESTAMP_TOKEN)
        if (beside.sha256 if beside else None) != report.seal_timestamp_sha256:
            raise BadRequest("The timestamp next to the sealed file does not belong to its seal")
        await _demand_evidence(held, inside, report, vouched_by=(Anchors(roots, crls, timestamp_roots), now))

    async def _proof(self, row: ArchiveRow, name: str, receipt: PackageReceipt) -> bool:
        """Whether a published root vouches for the package; BadRequest if it should and does not."""
        number = row.tree
        tree = None if number is None else await self._db.read(lambda tx: store.tree(tx, number))
        if tree is None or tree.published_at is None:
            return False
        root = await self._root(tree.number)
        if root.unseen:
            return False  # where the root is, its proofs are
        content = await fetch(self._target, proofs.proof_name(name, tree), limits.ARCHIVE_JSON_BYTES)
        if not proofs.holds(proofs.read_proof(content), name, receipt.sha256, receipt.size_bytes, tree):
            raise BadRequest("The proof next to the package does not lead to the root of its day")
        return root.proven

    async def _root(self, number: int) -> ArchiveVerdict:
        if number not in self._roots:
            self._roots[number] = await self._judged(number)
        return self._roots[number]

    async def _judged(self, number: int) -> ArchiveVerdict:
        tree, before, rows = await self._db.read(
            lambda tx: (store.tree(tx, number), store.tree(tx, number - 1), store.leaves(tx, number))
        )
        if tree is None:
            return ArchiveVerdict("root", f"root {number}", problem="The root is missing in the database")
        has_timestamp = tree.token is not None
        name = proofs.root_name(tree) if has_timestamp else f"root {number} of {tree.day}"
        try:
            _demand_whole(tree, before, rows)
            if tree.published_at is None:
                return ArchiveVerdict("root", name, unseen=f"It is not published yet. {tree.error or ''}".strip())
            location = tree.location or _guessed(name, rows, self._target)
            if location != self._target.location(name):
                return ArchiveVerdict("root", name, unseen=_elsewhere(location))
            await self._published(tree, name, tree.published_at)
        except NotFound:
            return ArchiveVerdict("root", name, problem="The root is missing in the archive")
        except Unavailable as error:
            return ArchiveVerdict("root", name, unseen=error.message)
        except ServiceError as error:
            return ArchiveVerdict("root", name, problem=error.message)
        return ArchiveVerdict("root", name, proven=True)

    async def _published(self, tree: Tree, name: str, published_at: str) -> None:
        """BadRequest unless the root lies there as it was published, time-stamped in time by a trusted authority."""
        if tree.token is None:
            raise BadRequest("The root was published, but its timestamp is missing in the database")
        if await fetch(self._target, name, limits.ARCHIVE_JSON_BYTES) != proofs.root_file(tree):
            raise BadRequest("The root in the archive is not the one that was published")
        anchors = await self._archive.authority.trusted(None)
        said = (tree.token, proofs.statement(tree), *anchors)
        found = await self._archive.workshop.run("deedbox.pdf.verify.standalone_timestamp:verify_token", *said)
        told = msgspec.convert(found, TokenReport)
        if not told.trusted:
            raise BadRequest(
                "The root's timestamp comes from an authority that this server does not trust. If it comes from"
                " DEEDBOX_TSA_URL, name its root certificate in DEEDBOX_TSA_CA_FILE"
            )
        slack = timedelta(seconds=shared_limits.TSA_SKEW_SECONDS)
        if not proofs.day_end(tree) - slack <= moment(told.at) <= moment(published_at) + slack:
            raise BadRequest(f"The root's timestamp is dated {told.at}: not between its day and its publication")


def _elsewhere(location: str) -> str:
    return f"It lies at {location}, and not in the archive that DEEDBOX_ARCHIVE_URL names now"


def _guessed(name: str, rows: Sequence[ArchiveRow], target: ArchiveTarget) -> str:
    """The place of a root that has none noted: the archive that its packages were pushed to."""
    receipt = rows[0].receipt if rows else None
    package_at = rows[0].bag.name if rows else ""
    if receipt is None or receipt.location == target.location(package_at):
        return target.location(name)
    return f"{receipt.location.removesuffix(package_at)}{name}"


def _demand_whole(tree: Tree, before: Tree | None, rows: Sequence[ArchiveRow]) -> None:
    """BadRequest unless the root follows the one before, and stands for exactly the packages that are known of."""
    if tree.previous != (proofs.statement_sha256(before) if before else None):
        raise BadRequest("The root does not follow the one before it")
    if len(rows) != tree.size:
        raise BadRequest(f"The root stands for {tree.size} packages, of which the database knows {len(rows)}")
    if merkle.root([proofs.row_leaf(row) for row in rows]).hex() != tree.root:
        raise BadRequest("The root does not stand for the packages that the database knows of")


def _stream(held: SpooledFile, inside: PackageContents, path: str) -> Stream:
    place = inside.payload.get(path)
    if place is None:
        raise BadRequest(f"The package has no {path}")
    return Stream(place.size_bytes, pieces(held.file, place.start, place.size_bytes))


async def _read(held: SpooledFile, inside: PackageContents, path: str) -> bytes:
    stream = _stream(held, inside, path)
    if stream.size_bytes > shared_limits.EVIDENCE_BYTES:
        raise BadRequest(f"The file {path} in the package is too large")
    return b"".join([piece async for piece in stream.pieces])


async def _demand_evidence(
    held: SpooledFile, inside: PackageContents, report: VerificationReport, vouched_by: tuple[Anchors, str]
) -> None:
    """BadRequest unless the evidence is that of the seal, and the originals are those that it names."""
    told = evidence.parse(await _read(held, inside, package.EVIDENCE_JSON))
    reasons = evidence.problems(told)
    if told.document.id != report.document_id or not evidence.is_sealed_in(told, report.chain_head):
        reasons.append("The evidence is not that of the sealed file.")
    if not evidence.names(told, report.sha256, report.seal_timestamp_sha256):
        reasons.append("The sealed file is not the one that the evidence names.")
    anchors, now = vouched_by
    if not evidence_signature.is_vouched_for(
        evidence.vouched_bytes(told), told.signature, report, anchors, moment(now)
    ):
        reasons.append("The seal's certificate does not vouch for the evidence.")
    if await _beginning(held, inside, told.document.marked.size_bytes) != told.document.marked.sha256:
        reasons.append("The sealed file does not begin with the marked file that the evidence names.")
    originals = [place.sha256 for path, place in inside.payload.items() if path.startswith(package.ORIGINALS_FOLDER)]
    if originals != [one.sha256 for one in told.document.originals]:
        reasons.append("The original files are not those that the evidence names.")
    if reasons:
        raise BadRequest(" ".join(reasons))


async def _beginning(held: SpooledFile, inside: PackageContents, size_bytes: int) -> str:
    """The hash of so many bytes of the sealed file."""
    place, found = inside.payload[package.SEALED_PDF], hashlib.sha256()
    async for piece in pieces(held.file, place.start, min(size_bytes, place.size_bytes)):
        found.update(piece)
    return found.hexdigest()
