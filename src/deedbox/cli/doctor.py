"""`deedbox doctor`: what is wrong with this installation, and what to do about it."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import click

from deedbox.cli import endpoints, limits, local_port, server_settings, surroundings
from deedbox.cli.finding import Finding
from deedbox.cli.options import data_option, json_option, need_installation, print_json
from deedbox.kernel import jobs, settings
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import health
from deedbox.kernel.errors import ServiceError, SetupError
from deedbox.kernel.sandbox import SandboxKind
from deedbox.kernel.settings import Settings

Check: TypeAlias = Callable[[Settings], Iterator[Finding]]
KIND = SandboxKind(name="doctor", preload=())
_SIGNS = {"good": "✓", "note": "–", "bad": "✗"}
_COLOURS = {"good": "green", "note": "yellow", "bad": "red"}


@click.command()
@data_option
@json_option
def command(data_dir: Path | None, as_json: bool) -> None:
    """Check the installation and say what to do for each problem."""
    findings = list(examine(data_dir))
    healthy = all(finding.verdict != "bad" for finding in findings)
    if as_json:
        print_json({"healthy": healthy, "findings": findings})
    else:
        for finding in findings:
            sign = click.style(_SIGNS[finding.verdict], fg=_COLOURS[finding.verdict])
            click.echo(f"{sign} {finding.subject:11} {finding.text}")
            if finding.next_step:
                click.echo(f"              → {finding.next_step}")
    sys.exit(0 if healthy else 1)


def examine(data_dir: Path | None) -> Iterator[Finding]:
    """One finding after the other; each check is made although another failed."""
    try:
        loaded = settings.load(os.environ, {"data_dir": data_dir})
    except SetupError as error:
        yield Finding("settings", "bad", error.reason, error.next_step)
        return
    yield from _guarded(_settings, loaded)
    around: tuple[Check, ...] = (
        _server,
        surroundings.proxy,
        surroundings.postgres,
        surroundings.timestamps,
        endpoints.embeddings,
        endpoints.reranker,
        endpoints.chat,
        surroundings.traces,
    )
    checks: tuple[Check, ...] = (_disk, _files, _master_key, _model, _mail, _database, *around)
    try:
        need_installation(loaded)
    except SetupError as error:
        # Before the first start all is well; a folder that someone names is expected to hold one.
        yield Finding("data", "bad" if data_dir else "note", error.reason, error.next_step)
        checks = ()  # looking into it would make it
    for check in (_python, surroundings.open_files, _tools, _fonts, _converters, _clock, *checks):
        yield from _guarded(check, loaded)


def _settings(loaded: Settings) -> Iterator[Finding]:
    """The data folder, and where its server listens: the one that runs, else the one that would start here."""
    address = f"a server would listen on {local_port.url(loaded.host, loaded.port)}"
    if _server_runs(loaded):
        noted = server_settings.address(loaded)
        address = f"its server listens on {noted}" if noted else "its server runs"
    yield Finding("settings", "good", f"data folder {loaded.data_dir}; {address}")


def _server_runs(loaded: Settings) -> bool:
    """Whether a server runs on the data folder and has noted its settings there."""
    import asyncio

    from deedbox.cli import running_server

    async def runs() -> bool:
        async with running_server.is_absent(loaded) as absent:
            return not absent

    return loaded.settings_file.exists() and asyncio.run(runs())


def _server(loaded: Settings) -> Iterator[Finding]:
    """Whether the server that runs on the data folder has the settings that are checked here: this command's."""
    if not _server_runs(loaded):
        yield Finding("server", "note", "none runs on this data folder; these are the settings of this command")
        return
    step = "Run doctor with the server's environment and settings file, or restart the server with these."
    try:
        names = server_settings.compare_settings(loaded)
    except ValueError:
        yield Finding("server", "bad", "it runs with a different master key than this command", step)
        return
    if names:
        text = f"it runs with different values of {', '.join(names)}; the findings here are about this command's values"
        yield Finding("server", "bad", text, step)
    else:
        yield Finding("server", "good", "it runs with the settings that are checked here")


def _guarded(check: Check, loaded: Settings) -> Iterator[Finding]:
    try:
        yield from check(loaded)
    except SetupError as error:
        yield Finding(check.__name__.strip("_").replace("_", " "), "bad", error.reason, error.next_step)
    except (ServiceError, OSError) as error:
        yield Finding(check.__name__.strip("_").replace("_", " "), "bad", str(error), "See the server's log.")


def _python(_: Settings) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if not (3, 11) <= sys.version_info < (3, 15):
        yield Finding("python", "bad", f"Python {version} is not supported", "Use Python 3.11, 3.12, 3.13 or 3.14.")
    else:
        yield Finding("python", "good", f"Python {version}")


def _disk(loaded: Settings) -> Iterator[Finding]:
    folder = loaded.data_dir
    if not folder.exists():  # with PostgreSQL and the master key elsewhere
        yield Finding("disk", "note", f"{folder} does not exist yet; the first start makes it")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding("disk", "bad", f"{folder} cannot be written", "Change its owner or mode, or give --data DIR.")
        return
    if folder.stat().st_mode & 0o077:
        yield Finding("disk", "bad", f"{folder} can be read by other users", f"chmod 700 {folder}")
    free = shutil.disk_usage(folder).free
    if free < limits.DISK_FREE_BYTES:
        yield Finding(
            "disk", "bad", f"only {free // shared_limits.MB} MB are free", "Free some space or move the data folder."
        )
    else:
        yield Finding("disk", "good", f"{free // shared_limits.MB:,} MB are free")


def _files(loaded: Settings) -> Iterator[Finding]:
    """Puts, reads and deletes an object where files lie in a store; a folder is looked at with its disk."""
    from deedbox.kernel.blobs.choose import chosen_bucket

    bucket = chosen_bucket(loaded)
    if bucket is not None:
        bucket.check(os.urandom)
        yield Finding("files", "good", f"{bucket.place} at {loaded.s3_endpoint or 'AWS'} can be written and read")


def _master_key(loaded: Settings) -> Iterator[Finding]:
    if not loaded.ring.exists():
        yield Finding("master key", "bad", f"{loaded.ring} is missing", "Restore it from a backup.")
        return
    ValueCipher(loaded.ring)
    if loaded.ring.stat().st_mode & 0o077:
        yield Finding("master key", "bad", f"{loaded.ring} can be read by others", f"chmod 600 {loaded.ring}")
    else:
        yield Finding("master key", "good", f"{loaded.ring}, readable only by its owner")


def _tools(_: Settings) -> Iterator[Finding]:
    import asyncio

    from deedbox.kernel.sandbox import seccomp
    from deedbox.kernel.sandbox.pool import Sandbox

    async def try_sandbox() -> None:
        sandbox = Sandbox(KIND)
        try:
            await sandbox.warm()
        finally:
            await sandbox.close()

    asyncio.run(try_sandbox())
    if reason := seccomp.missing_reason():
        step = "SECURITY.md says what then still holds. Linux on x86_64 and aarch64 filters them."
        yield Finding("tools", "note", f"a sandbox starts, and its system calls are not filtered: {reason}", step)
    else:
        yield Finding("tools", "good", "a sandbox for untrusted files starts; PDFs and images need no other program")


def _fonts(_: Settings) -> Iterator[Finding]:
    """Marks and certificates are set in the fonts of packages, never in those of the system."""
    from deedbox.pdf.marks import fonts

    if lacking := fonts.missing_packages():
        text = f"{len(lacking)} are missing, such as {lacking[0]}: names in their letters are refused"
        yield Finding(
            "fonts", "bad", text, "Reinstall Deedbox with all of its dependencies: pip install 'deedbox[server]'"
        )
    else:
        yield Finding("fonts", "good", f"all {len(fonts.PACKAGES)} packages for marks and certificates are there")


def _converters(loaded: Settings) -> Iterator[Finding]:
    """Word documents need LibreOffice, HTML pages WeasyPrint, and both a system that can confine them."""
    from deedbox.kernel.sandbox import fence
    from deedbox.pdf.intake import convert

    means = fence.means()
    known: tuple[tuple[convert.Source, str, str], ...] = (
        ("docx", "Word", "LibreOffice"),
        ("html", "HTML", "WeasyPrint"),
    )
    for source, files, program in known:
        try:
            convert.require_converter(source, unconfined=loaded.converters == "unconfined")
        except ServiceError:
            step = convert.INSTALL[source]
            yield Finding(files, "note", f"{files} files are refused: {program} is not installed", step)
            continue
        yield _confined(files, program, means, loaded)


def _confined(files: str, program: str, means: str | None, loaded: Settings) -> Finding:
    if means is not None:
        by = {"landlock": "Landlock", "namespace": "a user namespace"}[means]
        return Finding(files, "good", f"{program} is installed, and confined by {by}")
    none = "this system has neither a Landlock that can confine it nor user namespaces"
    if loaded.converters == "unconfined":
        step = "Unset DEEDBOX_CONVERTERS: a file that takes it over reads the whole data folder."
        return Finding(files, "bad", f"{program} runs unconfined: {none}", step)
    step = "Use Linux 6.2 or newer, or allow user namespaces, or accept the risk: DEEDBOX_CONVERTERS=unconfined"
    return Finding(files, "note", f"{files} files are refused although {program} is installed: {none}", step)


def _clock(loaded: Settings) -> Iterator[Finding]:
    """The newest file of ours must not come from the future, and PostgreSQL must agree."""
    clock = SystemClock()
    ahead = 0.0
    if loaded.database_url:
        ahead = health.postgres_clock_ahead(loaded.database_url.reveal(), clock)
    elif loaded.sqlite_path.exists():
        ahead = max(0.0, loaded.sqlite_path.stat().st_mtime - clock.now().timestamp())
    if abs(ahead) > shared_limits.CLOCK_SKEW_SECONDS:
        yield Finding("clock", "bad", f"this clock is {abs(ahead):.0f} s off", "Switch on time synchronisation.")
    else:
        yield Finding("clock", "good", clock.now().strftime("%Y-%m-%d %H:%M:%S UTC"))


def _model(loaded: Settings) -> Iterator[Finding]:
    from deedbox.search.embed import models

    if loaded.embedding_url:
        return  # it is asked
    current = models.current(loaded.models)
    if current is None:
        yield Finding("model", "note", "no embedding model, so no search", "deedbox model install")
    else:
        yield Finding("model", "good", f"{current.name}, {current.dimensions} dimensions, {current.precision}")


def _mail(loaded: Settings) -> Iterator[Finding]:
    """Greets the mail server and logs in to it; sends nothing."""
    import asyncio

    from deedbox.mail import Relay

    if loaded.smtp_url is None:
        step = "Set DEEDBOX_SMTP_URL and DEEDBOX_MAIL_FROM to send it."
        yield Finding("mail", "note", "no mail server, so mail stays in the dashboard's inbox", step)
        return

    relay = Relay(loaded)
    try:
        asyncio.run(relay.check())
        yield Finding("mail", "good", f"{relay.demand_server()} answers; mail comes from {loaded.mail_from}")
    except ServiceError as error:
        yield Finding("mail", "bad", error.message, "Check DEEDBOX_SMTP_URL, then: deedbox mail test ADDRESS")
    if loaded.base_url is None:
        yield Finding("mail", "bad", "links in mail would lead to this machine only", "Set DEEDBOX_BASE_URL.")


def _database(loaded: Settings) -> Iterator[Finding]:
    import asyncio

    from deedbox import wiring

    async def look() -> tuple[list[str], dict[str, jobs.Backlog], list[str]]:
        async with wiring.open_installation(loaded) as deedbox:
            problems, backlogs = await deedbox.db.read(health.problems), await deedbox.backlogs()
            return problems, backlogs, await deedbox.blobs.lost(deedbox.db)

    problems, backlogs, lost = asyncio.run(look())
    if problems:
        yield Finding("database", "bad", "; ".join(problems), "Stop the server and restore a backup.")
    else:
        yield Finding("database", "good", "schema and content are sound")
    if lost:
        named = ", ".join(lost[: limits.LOST_FILES_NAMED])
        yield Finding("files", "bad", f"{len(lost)} are lost, such as {named}", "Restore them from a backup.")
    yield from _jobs(loaded, backlogs)


def _jobs(loaded: Settings, backlogs: Mapping[str, jobs.Backlog]) -> Iterator[Finding]:
    """Background work that was given up, and work that nobody does."""
    stalled = {kind: one for kind, one in backlogs.items() if one.is_stalled}
    if failed := sum(one.failed for one in backlogs.values()):
        yield Finding("jobs", "bad", f"{failed} background jobs were given up", "deedbox jobs list shows why.")
    if stalled:
        minutes = max(one.oldest_due_seconds for one in stalled.values()) // 60
        named = ", ".join(f"{kind} ({one.due} due)" for kind, one in stalled.items())
        text = f"nobody does {named}; the oldest has been due for {minutes:.0f} minutes"
        if loaded.database_url is None and not loaded.address_file.exists():
            yield Finding("jobs", "note", text, "No server runs on this data folder: deedbox serve")
        else:
            step = "Start a server, or a worker that does this kind: deedbox worker --kind KIND"
            yield Finding("jobs", "bad", text, step)
    elif not failed:
        due, running = (sum(getattr(one, what) for one in backlogs.values()) for what in ("due", "running"))
        yield Finding("jobs", "good", f"{due} due, {running} running, none given up")
