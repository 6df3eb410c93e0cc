"""The client with which commands talk to a server: to one elsewhere, or to the one on the data folder."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from deedbox import client
from deedbox.cli import limits
from deedbox.cli.options import load, run
from deedbox.client import Deedbox
from deedbox.kernel.errors import ServiceError, SetupError


@contextmanager
def connect(
    data_dir: Path | None, purpose: str, scopes: list[str], *, key_hours: int = limits.COMMAND_KEY_HOURS
) -> Iterator[Deedbox]:
    """A client of the server that DEEDBOX_URL names, or else of the one on the data folder.

    What the server refuses is raised as a sentence for the terminal."""
    try:
        if data_dir is None and os.environ.get("DEEDBOX_URL"):
            with Deedbox() as elsewhere:
                yield elsewhere
        else:
            with _on_the_data_folder(data_dir, purpose, scopes, key_hours) as here:
                yield here
    except client.ApiError as error:
        raise ServiceError(error.message) from error
    except client.DeedboxError as error:
        raise ServiceError(str(error)) from error


@contextmanager
def _on_the_data_folder(data_dir: Path | None, purpose: str, scopes: list[str], key_hours: int) -> Iterator[Deedbox]:
    """With a key that opens only this and ends with the command: whoever may write to the folder may have one."""
    from deedbox.cli import command_key  # needs the server's packages

    settings = load(data_dir=data_dir)
    if not settings.address_file.exists():
        raise SetupError(
            f"No server runs on the data folder {settings.data_dir}.",
            "Start it with: deedbox serve. Or name one elsewhere with DEEDBOX_URL and DEEDBOX_API_KEY.",
        )
    address = settings.address_file.read_text(encoding="utf-8")
    made = run(settings, lambda deedbox: command_key.make(deedbox, purpose, scopes, key_hours))

    def revoke() -> None:
        run(settings, lambda deedbox: command_key.revoke(deedbox, made.record.id))

    try:
        with _also_when_told_to_end(revoke), Deedbox(address, made.plain.reveal()) as here:
            yield here
    finally:
        revoke()


@contextmanager
def _also_when_told_to_end(act: Callable[[], None]) -> Iterator[None]:
    """Acts before SIGTERM or SIGHUP end the process. In a thread that nobody waits for, and without unwinding: an event
    loop may be running, what was interrupted may hold a lock, and a thread that waits for input would hold the process
    back."""

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=act_and_end, args=(number,)).start()

    def act_and_end(number: int) -> None:
        try:
            act()
        finally:
            os.kill(os.getpid(), number)

    heard = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) == signal.SIG_DFL]
    for one in heard:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in heard:
            signal.signal(one, signal.SIG_DFL)
