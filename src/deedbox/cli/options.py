"""Options that commands share, and running a command on an open installation.

Commands that only talk to a server need none of its packages, so this imports them where it uses them."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from deedbox.kernel.errors import SetupError

if TYPE_CHECKING:
    from deedbox.kernel.settings import Settings

T = TypeVar("T")

data_option = click.option(
    "--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR", help="The data folder. Default: ./data"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def load(**flags: Any) -> "Settings":
    """The settings from flags, environment and file; the log is set up by them."""
    from deedbox.kernel import log, settings

    loaded = settings.load(os.environ, flags)
    log.configure(loaded.log_level, loaded.log_format)
    return loaded


def run(loaded: "Settings", work: Callable[[Any], Awaitable[T]], *, anew: bool = False) -> T:
    """What `work` returns, given the open installation; a server may be running beside.

    One is made only if `anew` says so: a mistyped folder must not become an installation."""
    from deedbox import wiring

    if not anew:
        need_installation(loaded)

    async def on_open_installation() -> T:
        async with wiring.open_installation(loaded) as deedbox:
            return await work(deedbox)

    return asyncio.run(on_open_installation())


def need_installation(loaded: "Settings") -> None:
    """SetupError when the data folder holds none."""
    sign = loaded.sqlite_path if loaded.database_url is None else loaded.ring
    if not sign.exists():
        raise SetupError(
            f"There is no installation in the data folder {loaded.data_dir}: it has no {sign.name}.",
            "Name the right one with --data DIR, or make one there with: deedbox serve --data DIR",
        )


def print_json(value: Any) -> None:
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))
