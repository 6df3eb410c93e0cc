"""`deedbox index`: makes a folder searchable, and keeps it so; also beside a running server, and again at any time."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from deedbox.cli import limits
from deedbox.cli.folder_run import NOTHING, FolderRun
from deedbox.cli.options import data_option, json_option, load, print_json
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.collection import CollectionName
from deedbox.kernel.s3.place import place
from deedbox.kernel.settings import Settings
from deedbox.search.extract.kinds import SUPPORTED
from deedbox.search.folders import WatchedFolder
from deedbox.search.folders.local import LocalFolder
from deedbox.search.folders.mirror import Left, MirrorReport, Wish
from deedbox.search.library.upload import DEFAULT_COLLECTION

NOT_ALL, KEPT, INTERRUPTED = 1, 3, 130
_CONFIRM = "--confirm-removals"


def _collection(context: click.Context, option: click.Parameter, given: str) -> str:
    try:
        return msgspec.convert(given, CollectionName)
    except msgspec.ValidationError as error:
        raise click.BadParameter(
            f"it must have 1 to {shared_limits.COLLECTION_CHARS} characters, and no space at either end",
            context,
            option,
        ) from error


@click.command()
@data_option
@json_option
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, callback=_collection,
              help="Where the documents of new files lie; known ones stay where they are.")  # fmt: skip
@click.option("--watch", is_flag=True, help="Keep running until interrupted and add new or changed files.")
@click.option("--every", type=click.FloatRange(0.1, 3600), metavar="SECONDS",
              help="How often --watch looks. Default: "
              f"{limits.FOLDER_LOOK_SECONDS}, and {limits.BUCKET_LOOK_SECONDS} for a bucket.")  # fmt: skip
@click.option(_CONFIRM, "confirmed", is_flag=True,
              help="Remove the documents of files that are gone, also if all or most of them are.")  # fmt: skip
@click.argument("folder", metavar="FOLDER")
def command(data_dir: Path | None, as_json: bool, folder: str, **options: Any) -> None:
    """Make documents of the files of FOLDER, a path or s3://bucket/prefix, and index them; also while the server runs.

    New files are added, edited ones replaced, renamed ones moved, and the documents of those that are gone removed.
    Files that are what they were, by their bytes, are left alone: run it again after an interruption, or when files
    have changed. Hidden files and links are left out.

    Exit codes: 0 all done (with --watch: interrupted), 1 some files could not be read or indexed, 2 wrong use, 3 the
    documents of files that are gone were kept, because all or most of them are, 130 interrupted."""
    if options["watch"] and options["confirmed"]:
        raise click.UsageError(f"{_CONFIRM} is for one run: do it once, without --watch.")
    if options["every"] and not options["watch"]:
        raise click.UsageError("--every is for --watch.")
    settings = load(data_dir=data_dir)
    found = _folder(settings, folder, missing=options["confirmed"])
    run = FolderRun(settings, found, Wish(options["collection"], options["confirmed"]))
    if options["watch"]:
        every = options["every"] or (limits.BUCKET_LOOK_SECONDS if found.is_whole else limits.FOLDER_LOOK_SECONDS)
        _watch(run, found, every, as_json=as_json)
    else:
        gone = not found.is_whole and not Path(found.address).exists()
        _once(lambda: run.take_in(NOTHING) if gone else run.once(), as_json=as_json)


def _folder(settings: Settings, named: str, *, missing: bool) -> WatchedFolder:
    if named.startswith("s3://"):
        from deedbox.kernel.s3.bucket import Bucket
        from deedbox.search.folders.bucket import BucketFolder

        try:
            return BucketFolder(Bucket(place(named), settings.s3))
        except ValueError as error:
            raise click.BadParameter(f"{named}: {error}", param_hint="FOLDER") from error
    path = Path(named)
    if not path.is_dir() and (path.exists() or not missing):
        reason = "is no folder" if path.exists() else "does not exist"
        step = f"Documents created from its files stay; {_CONFIRM} removes them."
        raise click.BadParameter(f"{named} {reason}. {step}", param_hint="FOLDER")
    found = LocalFolder(path, settings.data_dir)
    if len(found.address) > shared_limits.UPLOAD_VALUE_CHARS or not found.address.isprintable():
        raise click.BadParameter("its path is too long, or has signs that cannot be kept", param_hint="FOLDER")
    return found


def _once(work: Callable[[], Awaitable[MirrorReport]], *, as_json: bool) -> None:
    try:
        report = asyncio.run(_until_told_to_stop(work))
    except asyncio.CancelledError:
        click.echo("\nInterrupted. What is taken in stays; the same command goes on with the rest.", err=True)
        sys.exit(INTERRUPTED)
    if as_json:
        print_json(report)
    else:
        _tell(report)
    if report.kept or not report.is_all:
        sys.exit(KEPT if report.kept else NOT_ALL)


def _watch(run: FolderRun, folder: WatchedFolder, every: float, *, as_json: bool) -> None:
    told: set[Left] = set()

    def tell(report: MirrorReport) -> None:
        """What is new: a file that is skipped is named once."""
        news = [one for one in report.skipped if one not in told]
        told.clear()
        told.update(report.skipped)
        report = msgspec.structs.replace(report, skipped=news)
        if as_json:
            click.echo(msgspec.json.encode(report).decode())
        else:
            _tell(report)

    async def watch() -> None:
        if not as_json:
            click.echo(f"Watching {folder.address}. Ctrl-C ends it.", err=True)
        await run.watch(every, tell)

    try:
        asyncio.run(_until_told_to_stop(watch))
    except asyncio.CancelledError:
        click.echo("\nNo longer watching. What is taken in stays.", err=True)


async def _until_told_to_stop(work: Callable[[], Awaitable[Any]]) -> Any:
    """What the work returns; cancelled when the process is interrupted or told to end."""
    task = asyncio.ensure_future(work())
    loop = asyncio.get_running_loop()
    for told in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(told, task.cancel)
    return await task


def _tell(report: MirrorReport) -> None:
    if report.files:
        changed = f"{report.uploaded} new, {report.replaced} replaced, {report.renamed} renamed, {report.known} known"
        click.echo(f"{report.files} files: {changed}; {report.removed} removed. {report.indexed} documents")
        click.echo(f'are indexed in {report.chunks} chunks. Ask them: deedbox ask "…"')
    else:
        kinds = ", ".join(SUPPORTED)
        click.echo(
            f"No file in {report.folder} has a supported type ({kinds}). {report.removed} documents were removed."
        )
    _name("Skipped", report.skipped)
    _name("Refused", report.refused)
    _name("Not indexed", report.failed)
    _name("Being written", [Left(path, "It is read when it stands still") for path in report.waiting])
    if report.kept:
        click.echo(
            f"{report.kept} documents stay whose files are gone: they are all or most of the folder's, which may not"
            f" be mounted. If they are to go: deedbox index {shlex.quote(report.folder)} {_CONFIRM}",
            err=True,
        )


def _name(heading: str, files: list[Left]) -> None:
    for one in files[: limits.FOLDER_TOLD]:
        shown = "".join(sign if sign.isprintable() else "?" for sign in one.file)
        click.echo(f"  {heading}: {shown}: {one.error}", err=True)
    if len(files) > limits.FOLDER_TOLD:
        click.echo(f"  {heading}: {len(files) - limits.FOLDER_TOLD} more; --json names them all.", err=True)
