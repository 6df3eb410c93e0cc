"""`deedbox index`: makes a folder searchable; also beside a running server, and again at any time."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import click
import msgspec

from deedbox.accounts import workspaces
from deedbox.cli import progress, running_server
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, DeedboxError, TooLarge
from deedbox.kernel.settings import Settings
from deedbox.search import ingest, library, store
from deedbox.search.extract.kinds import KINDS, SUPPORTED, kind_of
from deedbox.search.ingest import Failure
from deedbox.search.reader import Reader


class Refused(msgspec.Struct, frozen=True):
    file: str
    error: str


class Report(msgspec.Struct):
    files: int = 0
    uploaded: int = 0
    known: int = 0
    """Files whose bytes were there before."""
    indexed: int = 0
    chunks: int = 0
    refused: list[Refused] = []
    failed: list[Failure] = []


@click.command()
@data_option
@json_option
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def command(data_dir: Path | None, as_json: bool, folder: Path) -> None:
    """Upload the new files of FOLDER and index them; also while the server runs.

    Files that are there already, by their bytes, are left alone: run it again after an interruption, or when files
    were added."""
    settings = load(data_dir=data_dir)
    report = run(settings, lambda deedbox: _index(deedbox, settings, folder), anew=True)
    if as_json:
        print_json(report)
    else:
        _tell(report, folder)
    if report.refused or report.failed:
        raise SystemExit(1)


def _tell(report: Report, folder: Path) -> None:
    if not report.files:
        click.echo(f"There is no {SUPPORTED} file in {folder}.")
        return
    click.echo(f"{report.files} files: {report.uploaded} new, {report.known} known. {report.indexed} documents")
    click.echo(f'are indexed in {report.chunks} chunks. Ask them: deedbox ask "…"')
    for refused in report.refused:
        click.echo(f"  {refused.file}: {refused.error}", err=True)
    for failure in report.failed:
        click.echo(f"  {failure.doc_id}: {failure.error}", err=True)


async def _index(deedbox: Any, settings: Settings, folder: Path) -> Report:
    deedbox.search.embedders.need()
    now = deedbox.clock.now()
    workspace = (await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))).id
    async with running_server.is_absent(settings) as alone:
        report, doc_ids = await _take_in(deedbox, workspace, _files(folder))
        async with running_server.jobs_done(deedbox, alone=alone):
            for first in range(0, len(doc_ids), limits.INDEX_DOC_IDS):
                await _index_some(deedbox, workspace, doc_ids[first : first + limits.INDEX_DOC_IDS], report)
    return report


async def _index_some(deedbox: Any, workspace: str, doc_ids: list[str], report: Report) -> None:
    def plan(tx: Tx) -> str:
        return ingest.plan(tx, deedbox.search, Reader(workspace, documents=True), doc_ids)

    outcome = ingest.step(await running_server.end_of_job(deedbox, await deedbox.db.write(plan))).outcome
    if outcome is not None:
        report.indexed += outcome.processed
        report.chunks += outcome.chunks
        report.failed += outcome.failed


def _files(folder: Path) -> list[Path]:
    """Every file of a kind that can be read, in the order of their names; hidden ones and links are left out."""
    extensions = {f".{extension}" for kind in KINDS.values() for extension in kind.extensions}
    found = []
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in extensions and not hidden and path.is_file() and not path.is_symlink():
            found.append(path)
    return found


async def _take_in(deedbox: Any, workspace: str, paths: list[Path]) -> tuple[Report, list[str]]:
    """What became of the files, and the documents that hold their bytes."""
    report, doc_ids = Report(files=len(paths)), {}
    for done, path in enumerate(paths):
        progress.show(done, len(paths) + 1)
        try:
            known = await _known(deedbox, workspace, path)
            doc_id = known or await _upload(deedbox, workspace, path)
        except (DeedboxError, OSError) as error:
            reason = error.message if isinstance(error, DeedboxError) else str(error.strerror)
            report.refused.append(Refused(str(path), reason))
            continue
        report.known += known is not None
        report.uploaded += known is None
        doc_ids[doc_id] = path
    return report, list(doc_ids)


async def _known(deedbox: Any, workspace: str, path: Path) -> str | None:
    """The document that holds the file's bytes already, as a file of its type."""
    sha256, media_type = await asyncio.to_thread(_hash, path), kind_of(path.name).media_type
    twin = await deedbox.db.read(lambda tx: store.twin(tx, workspace, sha256, media_type))
    return str(twin.id) if twin else None


def _hash(path: Path) -> str:
    if path.stat().st_size > limits.UPLOAD_BYTES:
        raise BadRequest("File exceeds maximum size of 50MB")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def _upload(deedbox: Any, workspace: str, path: Path) -> str:
    kind, name = kind_of(path.name), path.name.encode("utf-8", "replace").decode()[: limits.FILENAME_CHARS]
    async with deedbox.blobs.receive(limits.UPLOAD_BYTES) as incoming:
        try:
            with path.open("rb") as source:
                while piece := await asyncio.to_thread(source.read, limits.BLOB_CHUNK_BYTES):
                    await incoming.write(piece)
        except TooLarge as error:
            raise BadRequest("File exceeds maximum size of 50MB") from error
        received = await incoming.finish()
        async with deedbox.ingest.texts.parsed(workspace, name, kind, received) as file:
            now = deedbox.clock.now()
            upload = await deedbox.db.write(lambda tx: library.add(tx, workspace, file, now=now))
        return str(upload.id)
