"""`deedbox mail`: whether mail leaves this installation."""

from pathlib import Path
from typing import Any

import click

from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel.mailbox import mailbox
from deedbox.mail import Relay


@click.group()
def command() -> None:
    """Send a test mail."""


@command.command()
@data_option
@json_option
@click.argument("address")
def test(data_dir: Path | None, as_json: bool, address: str) -> None:
    """Send a test mail to ADDRESS and say what the mail server answered."""
    settings = load(data_dir=data_dir)
    to = mailbox(address)

    async def work(deedbox: Any) -> tuple[str, str, str]:
        relay = Relay(settings)
        message_id, answer = await relay.send_test(to, now=deedbox.clock.now())
        return str(relay.demand_server()), message_id, answer

    server, message_id, answer = run(settings, work)
    if as_json:
        print_json({"server": server, "to": to.address, "message_id": message_id, "answer": answer})
    else:
        click.echo(f"{server} took the mail to {to.address}: {answer}")
        click.echo(f"It is {message_id}. If it does not arrive, look for this id in the mail server's log.")
