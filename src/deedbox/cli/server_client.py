"""The client with which commands talk to a server: to one elsewhere, or to the one on the data folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deedbox import client
from deedbox.cli.options import load, run
from deedbox.client import Deedbox
from deedbox.kernel import limits
from deedbox.kernel.errors import DeedboxError, SetupError


@contextmanager
def connected(
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
        raise DeedboxError(error.message) from error
    except client.DeedboxError as error:
        raise DeedboxError(str(error)) from error


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
    try:
        with Deedbox(address, made.plain.reveal()) as here:
            yield here
    finally:
        run(settings, lambda deedbox: command_key.revoke(deedbox, made.record.id))
