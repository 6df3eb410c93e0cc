"""`deedbox login-link`: signs in whoever runs the server."""

from pathlib import Path
from typing import Any

import click

from deedbox.accounts import workspaces
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.settings import Settings


@click.command()
@data_option
@json_option
@click.option(
    "--forget-password",
    is_flag=True,
    help="End every session and passkey; the link asks for a new password.",
)
@click.option("--email", help="For the person with this address, in place of the first workspace's owner.")
def command(data_dir: Path | None, as_json: bool, forget_password: bool, email: str | None) -> None:
    """Make a one-time login link for the owner, or for the person with an address."""
    settings = load(data_dir=data_dir)

    async def work(deedbox: Any) -> str:
        now = deedbox.clock.now()

        def make(tx: Tx) -> str:
            if email is not None:
                return workspaces.link_for(tx, email, now=now, forget_password=forget_password).reveal()
            workspace = workspaces.ensure(tx, now=now).id
            return workspaces.owner_link(tx, workspace, now=now, forget_password=forget_password).reveal()

        token: str = await deedbox.db.write(make)
        return token

    link = f"{server_address(settings)}/login/{run(settings, work, anew=True)}"
    if as_json:
        print_json({"login_link": link})
    else:
        click.echo(f"{link}\n\nIt works once, within {limits.LOGIN_LINK_MINUTES} minutes.")


def server_address(settings: Settings) -> str:
    """The running server's own word, else what the settings say."""
    if settings.base_url:
        return settings.base_url
    if settings.address_file.exists():
        return settings.address_file.read_text(encoding="utf-8")
    return f"http://{settings.host}:{settings.port}"
