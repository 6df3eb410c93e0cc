"""`deedbox worker`: background work beside servers on the same PostgreSQL, until it is told to stop."""

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Collection
from typing import Any

import click

from deedbox.cli import limits, local_port
from deedbox.cli.options import data_option, json_option, load, need_installation
from deedbox.cli.serve import run
from deedbox.kernel import log, memory
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings


@click.command()
@data_option
@json_option
@click.option("--base-url", help="The address under which people reach the servers; mails have links to it.")
@click.option("--kind", "kinds", multiple=True, help="Do only this kind of work; repeat for several.")
def command(as_json: bool, kinds: tuple[str, ...], **flags: Any) -> None:
    """Do the background work of servers on the same PostgreSQL, of every kind or of some.

    It answers no requests. Any number may run, on any machine."""
    settings = load(**flags)
    _need_shared(settings)
    run(work(settings, kinds, lambda done: _announce(done, as_json=as_json)))


def _need_shared(settings: Settings) -> None:
    if settings.database_url is None:
        raise SetupError(
            "A worker needs PostgreSQL: with SQLite one process uses the data folder.",
            "Run deedbox serve, which does the background work too, or set DEEDBOX_DATABASE_URL.",
        )
    need_installation(settings)
    if settings.base_url is None:
        raise SetupError(
            "A worker has to know the address of the servers: it sends mails with links to them.",
            "Give it with --base-url URL or DEEDBOX_BASE_URL.",
        )


class _Stop:
    """What a signal asks for."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

    def stop(self) -> None:
        self._asked.set()

    async def asked(self) -> None:
        await self._asked.wait()


async def work(settings: Settings, kinds: Collection[str], ready: Callable[[list[str]], None]) -> None:
    """The worker, until a signal stops it; `ready` is told which kinds it does."""
    from deedbox import wiring
    from deedbox.kernel.sandbox import confine

    sys.setswitchinterval(limits.SWITCH_SECONDS)
    confine.hide_memory()
    memory.give_back_large()
    async with wiring.open_installation(settings) as deedbox:
        done = _chosen(kinds, deedbox.worker_kinds)
        await deedbox.blobs.check()
        stop = _Stop()
        with local_port.stopped_by_signals(stop):
            await deedbox.start_worker(done)
            try:
                gc.freeze()  # what was loaded stays, and need not be looked through again
                ready(done)
                await stop.asked()
            finally:
                await deedbox.stop()
    log.info("stopped")


def _chosen(kinds: Collection[str], known: list[str]) -> list[str]:
    if unknown := sorted(set(kinds) - set(known)):
        raise SetupError(f"A worker does no work of the kind {unknown[0]!r}.", f"The kinds are: {', '.join(known)}.")
    return [kind for kind in known if kind in kinds] or known


def _announce(kinds: list[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"kinds": kinds}))
    else:
        click.echo(f"The worker does: {', '.join(kinds)}\nStop it with Ctrl-C.")
    sys.stdout.flush()
