"""`deedbox demo`: a server with samples, shown for as long as you like, of which nothing stays."""

import asyncio
import json
import os
import secrets
import signal
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from deedbox.accounts.workspaces import FirstAccess
from deedbox.cli import local_port, serve
from deedbox.cli.demo import samples
from deedbox.cli.demo.desk import DemoReceiver, DemoState
from deedbox.cli.options import json_option
from deedbox.client import AsyncDeedbox
from deedbox.kernel import log, settings, tasks
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Settings

_LOOPBACK = "127.0.0.1"
_MODEL_PLACES = ("DEEDBOX_MODELS_DIR", "DEEDBOX_DATA_DIR")


@click.command()
@json_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The server's port. Default: a free one.")
@click.option("--browser/--no-browser", default=None, help="Open the first page. Default: on a desktop.")
def command(as_json: bool, port: int, browser: bool | None) -> None:
    """Show Deedbox at work: a server with sample documents, people and mails.

    Everything lies in a temporary folder. Ctrl-C ends it and leaves nothing behind. Other settings are not read, but
    for the folder with the embedding model."""
    show = _Show(as_json=as_json, browser=_desktop() if browser is None else browser)
    # Signals interrupt the run only: creating and removing the folder always finishes.
    temporary = tempfile.TemporaryDirectory
    with _ended_by_signals(show), temporary(prefix="deedbox-demo-") as folder, show.interruptible():
        serve.run(show.run(_settings(Path(folder), port)))
    if show.failure is not None:
        raise show.failure


class _Show:
    """One showing: the server, the demo's own site beside it, and the samples in it."""

    def __init__(self, *, as_json: bool, browser: bool) -> None:
        self._as_json, self._browser = as_json, browser
        self.failure: Exception | None = None
        self.ended = False
        """Whether a signal has asked for the end, also where what it raised was lost on its way."""
        self._interruptible = False

    def end(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal that ends the demo."""
        self.ended = True
        if self._interruptible:
            signal.default_int_handler(number, frame)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let signals raise KeyboardInterrupt in the block, and raise it for one that came before."""
        self._interruptible = True
        try:
            if self.ended:
                raise KeyboardInterrupt
            yield
        finally:
            self._interruptible = False

    async def run(self, chosen: Settings) -> None:
        with local_port.bind(_LOOPBACK, 0) as listener:
            self._desk = DemoReceiver(listener.getsockname()[1], secrets.token_urlsafe(12))
            site = tasks.begin(self._desk.serve(sockets=[listener]), "the demo's own site has ended")
            self._say("Setting up samples …")
            papers = asyncio.create_task(samples.typeset(SystemClock().now()))
            filling: list[asyncio.Task[None]] = []

            def begin(address: str, first: FirstAccess) -> None:
                filling.append(asyncio.create_task(self._begin(address, first, papers, chosen.data_dir)))

            try:
                await serve.serve(chosen, begin)
            finally:
                self._desk.stop()
                await tasks.end(papers, *filling)
                await asyncio.gather(site, return_exceptions=True)

    async def _begin(
        self, address: str, first: FirstAccess, papers: "asyncio.Task[samples.SampleFiles]", folder: Path
    ) -> None:
        """Fills the new server and shows it; whatever goes wrong ends the demo, and is told when all is tidy."""
        try:
            if not self.ended:
                return await self._filled(address, first, await papers, folder)
            os.kill(os.getpid(), signal.SIGTERM)
        except Exception as error:  # the first one that is met ends the demo, whatever it is
            self.failure = error
            os.kill(os.getpid(), signal.SIGTERM)

    async def _filled(self, address: str, first: FirstAccess, papers: samples.SampleFiles, folder: Path) -> None:
        if first.api_key is None or first.login_token is None:
            raise TypeError("the folder is not new")
        key, desk = first.api_key.reveal(), self._desk
        async with AsyncDeedbox(address, key) as server:
            desk.check_with(Secret(await samples.hook(server, desk.hook_url)))
            made = await samples.fill(server, desk.site, papers)
            visit = DemoState(address, f"{address}/login/{first.login_token.reveal()}", made)
            desk.begin(server, visit)
            self._announce(visit, key, folder)
            await asyncio.Event().wait()  # until the demo ends, its site talks to the server

    def _announce(self, visit: DemoState, key: str, folder: Path) -> None:
        links = {
            "start": self._desk.home,
            "login_link": visit.login_link,
            "inbox": f"{visit.address}/app/mail",
            "deliveries": f"{self._desk.home}deliveries",
            "host_page": f"{self._desk.home}host",
            "address": visit.address,
            "api_key": key,
        }
        if self._as_json:
            links |= {"verify": _verify(visit), "no_search": visit.samples.no_search or "", "folder": str(folder)}
            click.echo(json.dumps(links))
        else:
            for name, what in _SAID.items():
                click.echo(f"  {what:34} {links[name]}")
            if visit.samples.no_search:
                click.echo(f"\nSearch is off: {visit.samples.no_search}")
            click.echo("\nStop it with Ctrl-C: nothing of it stays.")
        sys.stdout.flush()
        if self._browser:
            webbrowser.open(self._desk.home)

    def _say(self, sentence: str) -> None:
        if not self._as_json:
            click.echo(f"{sentence}\n", err=True)


_SAID = {
    "start": "Begin here",
    "login_link": "Sign in (works once)",
    "inbox": "The inbox, once you are signed in",
    "host_page": "Sign within another site",
    "deliveries": "Webhooks as they arrive",
    "address": "The server",
    "api_key": "Its API key",
}


def _verify(visit: DemoState) -> str:
    code = visit.samples.verification_code
    return f"{visit.address}/verify/{code}" if code else ""


def _settings(folder: Path, port: int) -> Settings:
    """Those of the demo alone: no mail leaves, and of all that is not public only this machine is reached."""
    models = settings.load({name: os.environ[name] for name in _MODEL_PLACES if name in os.environ}).models
    chosen: dict[str, Any] = {
        "data_dir": folder / "data",
        "host": _LOOPBACK,
        "port": port,
        "egress_allow": f"{_LOOPBACK}/32",
        "models_dir": models.resolve(),
        "log_level": "warning",
    }
    loaded = settings.load({}, chosen)
    log.configure(loaded.log_level, loaded.log_format)
    return loaded


def _desktop() -> bool:
    """Whether someone is there to see a page open: not where a program reads what is said."""
    return sys.stdout.isatty() and _has_screen()


def _has_screen() -> bool:
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _ended_by_signals(show: _Show) -> Iterator[None]:
    """Whatever ends the demo, and whenever, its folder is removed: a closed terminal and a request to terminate too."""

    def lost(told: "sys.UnraisableHookArgs") -> None:
        # What the signal raised, where Python cannot pass it on: the end comes all the same, so nothing is said of it.
        if not (show.ended and told.exc_type is KeyboardInterrupt):
            sys.__unraisablehook__(told)

    sys.unraisablehook = lost
    before = {number: signal.signal(number, show.end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # While the server runs, its loop hears of SIGTERM; a closed terminal then says the same.
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.unraisablehook = sys.__unraisablehook__
        for number, handler in before.items():
            signal.signal(number, handler)
