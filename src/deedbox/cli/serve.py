"""`deedbox serve`: the server, until it is told to stop."""

import asyncio
import gc
import json
import shlex
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import click

from deedbox.accounts import workspaces
from deedbox.accounts.workspaces import FirstAccess
from deedbox.cli import limits, local_port, server_settings
from deedbox.cli.options import data_option, json_option, load
from deedbox.kernel import limits as shared_limits
from deedbox.kernel import log, memory
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings


@click.command()
@data_option
@json_option
@click.option("--host", help="The address to listen on. Default: 127.0.0.1")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on. Default: 8080")
@click.option("--public", is_flag=True, default=None, help="Allow an address that other machines reach.")
@click.option("--base-url", help="The address under which people reach this server.")
@click.option("--no-work", is_flag=True, help="Leave the background work to `deedbox worker`. Needs PostgreSQL.")
def command(as_json: bool, no_work: bool, **flags: Any) -> None:
    """Run the server."""
    settings = load(**flags)
    if no_work and settings.database_url is None:
        raise SetupError(
            "With SQLite one process uses the data folder: nobody would do the work that --no-work leaves undone.",
            "Leave --no-work out, or set DEEDBOX_DATABASE_URL to a PostgreSQL database.",
        )
    run(serve(settings, lambda address, first: _announce(address, first, settings, as_json=as_json), work=not no_work))


def run(work: Coroutine[Any, Any, None]) -> None:
    """Runs it on the fastest loop that there is."""
    try:
        import uvloop

        uvloop.run(work)
    except ImportError:  # no uvloop on this platform
        asyncio.run(work)


async def serve(settings: Settings, ready: Callable[[str, FirstAccess], None], *, work: bool = True) -> None:
    """The server, until a signal stops it; `ready` is told its address and how the first person gets in."""
    from deedbox import wiring
    from deedbox.kernel.sandbox import confine
    from deedbox.web.app import build
    from deedbox.web.http.server import Server

    sys.setswitchinterval(limits.SWITCH_SECONDS)
    confine.hide_memory()
    memory.give_back_large()
    async with wiring.sole_user(settings, server=True):
        # Bound before anything is made: a port in use must not burn the first key.
        listener = local_port.bind(settings.host, settings.port)
        async with wiring.open_installation(settings) as deedbox:
            await deedbox.blobs.check()
            now = deedbox.clock.now()
            first = await deedbox.db.write(lambda tx: workspaces.first_access(tx, now=now))
            address = settings.base_url or local_port.address(listener)
            deedbox.address = address
            settings.address_file.write_text(address, encoding="utf-8")
            await deedbox.start(work=work)
            try:
                app = build(deedbox)
                gc.freeze()  # what was loaded stays, and need not be looked through again
                server = Server(app, settings, ready=lambda: ready(address, first))
                with (
                    server_settings.publish_settings(settings, local_port.address(listener)),
                    local_port.stopped_by_signals(server),
                ):
                    await server.serve(sockets=[listener])
            finally:
                await deedbox.stop()
                settings.address_file.unlink(missing_ok=True)
    log.info("stopped")


def _announce(address: str, first: FirstAccess, settings: Settings, *, as_json: bool) -> None:
    link = f"{address.rstrip('/')}/login/{first.login_token.reveal()}" if first.login_token else None
    key = first.api_key.reveal() if first.api_key else None
    if as_json:
        click.echo(json.dumps({"address": address, "login_link": link, "api_key": key}))
    else:
        click.echo(f"Deedbox is running at {address}")
        if link:
            click.echo(f"\n  Sign in (works once, within {shared_limits.LOGIN_LINK_MINUTES} minutes):\n  {link}")
        elif not first.owner_settled:
            click.echo("\n  The owner has no password yet. Get a login link with:")
            click.echo(f"  deedbox login-link --data {shlex.quote(str(settings.data_dir))}")
        if key:
            click.echo(f"\n  Your first API key (shown only now):\n  {key}")
        click.echo("\nStop it with Ctrl-C.")
    sys.stdout.flush()
