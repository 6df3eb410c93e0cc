"""Whether the archive still has what it was given: each package, its seal, its proof, and the roots over them."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from deedbox.archive import checking, package, proofs, store
from deedbox.archive.checking import Contents
from deedbox.archive.package import ManifestKey
from deedbox.archive.receipt import Archived, Receipt, Tree
from deedbox.archive.records import Authority
from deedbox.archive.rounds import package_name
from deedbox.archive.spool import Held, pieces, spool
from deedbox.archive.targets import Target, fetched
from deedbox.evidence import file as evidence
from deedbox.kernel import limits
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest, DeedboxError, NotFound
from deedbox.kernel.sandbox import Stream
from deedbox.pdf.report import Parts, Report
from deedbox.pdf.stamped import Told
from deedbox.pdf.workshop import Workshop


class Verdict(msgspec.Struct, frozen=True):
    """What was found of one package, or of one root."""

    name: str
    problem: str | None = None
    elsewhere: bool = False
    """It lies in another archive than the one that is set now, and was not looked at."""
    other_key: bool = False
    """Whole, but authenticated with another key."""
    proven: bool = False
    """A time-stamped root vouches for it."""


class Verifying:
    def __init__(
        self,
        db: Database,
        clock: Clock,
        workshop: Workshop,
        authority: Authority,
        key: ManifestKey,
        target: Target,
        folder: Path,
    ) -> None:
        self._db, self._clock, self._workshop, self._authority = db, clock, workshop, authority
        self._key, self._target, self._folder = key, target, folder

    async def all(self, tell: Callable[[Verdict], None]) -> None:
        """Every package and every root, one after the other."""
        after = ""
        while rows := await self._db.read(lambda tx, after=after: store.archived(tx, after, limits.ARCHIVE_BATCH)):  # type: ignore[misc]
            for row in rows:
                tell(await self.one(row))
            after = rows[-1].document_id
        for number in range(1, await self._db.read(store.trees) + 1):
            tell(await self._root(number))

    async def one(self, row: Archived) -> Verdict:
        """What is found of one package."""
        name, receipt = package_name(row), row.got
        if receipt is None:
            return Verdict(name, problem="It is not archived")
        if receipt.location != self._target.location(name):
            return Verdict(name, elsewhere=True)
        try:
            inside = await self._package(row, name, receipt)
            proven = await self._proof(row, name, receipt)
        except DeedboxError as error:
            return Verdict(name, problem=error.message)
        return Verdict(name, other_key=inside.authenticated is None, proven=proven)

    async def _package(self, row: Archived, name: str, receipt: Receipt) -> Contents:
        async with spool(self._folder) as out:
            await self._target.fetch(name, out.write)
            held = await out.finish()
            inside = await asyncio.to_thread(checking.contents, held.file, held.size_bytes, row.document_id, self._key)
            if (held.sha256, held.size_bytes) != (receipt.sha256, receipt.size_bytes):
                raise BadRequest("The package is whole, but not the one that the receipt names")
            await self._sealed(row, held, inside)
            return inside

    async def _sealed(self, row: Archived, held: Held, inside: Contents) -> None:
        """BadRequest unless the sealed file is authentic, and evidence and time-stamp are those of it."""
        roots, crls = await self._authority.trusted(row.workspace_id)
        now = instant(self._clock.now())
        found = await self._workshop.run(
            "deedbox.pdf.verify:verify", _stream(held, inside, package.SEALED), roots, crls, now
        )
        report = msgspec.convert(found, Report)
        if (report.verdict, report.document_id) != ("authentic", row.document_id):
            raise BadRequest(
                f"The sealed file is {report.verdict}: {' '.join(report.reasons) or 'of another document'}"
            )
        parts = msgspec.convert(
            await self._workshop.run("deedbox.pdf.parts:parts", _stream(held, inside, package.SEALED)), Parts
        )
        kept = await _read(held, inside, package.TIMESTAMP) if package.TIMESTAMP in inside.payload else None
        if kept != parts.timestamp:
            raise BadRequest("The time-stamp beside the sealed file is not that of its seal")
        await _demand_evidence(held, inside, report)

    async def _proof(self, row: Archived, name: str, receipt: Receipt) -> bool:
        """Whether a published root vouches for the package; BadRequest if it should and does not."""
        number = row.tree
        tree = None if number is None else await self._db.read(lambda tx: store.tree(tx, number))
        if tree is None or tree.published_at is None:
            return False
        found = proofs.read_proof(await fetched(self._target, proofs.proof_name(name), limits.ARCHIVE_JSON_BYTES))
        if not proofs.holds(found, name, receipt.sha256, receipt.size_bytes, tree):
            raise BadRequest("The proof beside the package does not lead to the root of its day")
        return True

    async def _root(self, number: int) -> Verdict:
        tree = await self._db.read(lambda tx: store.tree(tx, number))
        before = await self._db.read(lambda tx: store.tree(tx, number - 1))
        if tree is None:
            return Verdict(f"root {number}", problem="The root is missing in the database")
        name = proofs.root_name(tree)
        if tree.published_at is None or tree.token is None:
            return Verdict(name, proven=False)
        if tree.previous != (proofs.statement_sha256(before) if before else None):
            return Verdict(name, problem="The root does not follow the one before it")
        try:
            content = await fetched(self._target, name, limits.ARCHIVE_JSON_BYTES)
            if content != proofs.root_file(tree):
                raise BadRequest("The root in the archive is not the one that was published")
            told = await self._stamp(tree, tree.token)
        except NotFound:
            return Verdict(name, problem="The root is missing in the archive")
        except DeedboxError as error:
            return Verdict(name, problem=error.message)
        return Verdict(name, proven=told.trusted)

    async def _stamp(self, tree: Tree, token: bytes) -> Told:
        roots, crls = await self._authority.trusted(None)
        found = await self._workshop.run("deedbox.pdf.stamped:stamped", token, proofs.statement(tree), roots, crls)
        return msgspec.convert(found, Told)


def _stream(held: Held, inside: Contents, path: str) -> Stream:
    place = inside.payload.get(path)
    if place is None:
        raise BadRequest(f"The package has no {path}")
    return Stream(place.size_bytes, pieces(held.file, place.start, place.size_bytes))


async def _read(held: Held, inside: Contents, path: str) -> bytes:
    stream = _stream(held, inside, path)
    if stream.size_bytes > limits.EVIDENCE_BYTES:
        raise BadRequest(f"The file {path} in the package is too large")
    return b"".join([piece async for piece in stream.pieces])


async def _demand_evidence(held: Held, inside: Contents, report: Report) -> None:
    told = evidence.parse(await _read(held, inside, package.EVIDENCE))
    reasons = evidence.problems(told)
    if told.document.id != report.document_id or not evidence.is_sealed_in(told, report.chain_head):
        reasons.append("The evidence is not that of the sealed file.")
    if await _beginning(held, inside, told.document.stamped.size_bytes) != told.document.stamped.sha256:
        reasons.append("The sealed file does not begin with the stamped file that the evidence names.")
    if reasons:
        raise BadRequest(" ".join(reasons))


async def _beginning(held: Held, inside: Contents, size_bytes: int) -> str:
    """The hash of so many bytes of the sealed file."""
    place, found = inside.payload[package.SEALED], hashlib.sha256()
    async for piece in pieces(held.file, place.start, min(size_bytes, place.size_bytes)):
        found.update(piece)
    return found.hexdigest()
