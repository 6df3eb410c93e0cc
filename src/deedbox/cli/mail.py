"""`deedbox mail`: what was mailed, what stayed here, and whether mail leaves this installation."""

from pathlib import Path
from typing import Any

import click

from deedbox.accounts import workspaces
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.mailbox import mailbox
from deedbox.mail import InboxMail, MailRecord, Relay


@click.group()
def command() -> None:
    """List and show mails that stayed here; send a test mail."""


@command.command("list")
@data_option
@json_option
@click.option("--limit", type=click.IntRange(1, limits.PAGE_MAX), default=limits.PAGE_DEFAULT, show_default=True)
@click.option("--before", metavar="ID", help="Continue after this mail of an earlier list.")
@click.option("--about", metavar="ID", help="Only mails about this document.")
def list_mails(data_dir: Path | None, as_json: bool, limit: int, before: str | None, about: str | None) -> None:
    """List mails, newest first: when, kind, state, to whom, about what."""

    async def work(deedbox: Any) -> list[MailRecord]:
        now = deedbox.clock.now()

        def look(tx: Tx) -> list[MailRecord]:
            workspace = workspaces.ensure(tx, now=now).id
            found: list[MailRecord] = deedbox.inbox.page(tx, workspace, about=about, limit=limit + 1, before=before)
            return found

        listed: list[MailRecord] = await deedbox.db.write(look)
        return listed

    found = run(load(data_dir=data_dir), work)
    shown, more = found[:limit], len(found) > limit
    if as_json:
        print_json({"mails": shown, "has_more": more})
        return
    for mail in shown:
        click.echo(f"{mail.id}  {mail.created_at}  {mail.status:6}  {mail.kind:11}  {mail.to}  {mail.about or ''}")
    if more:
        click.echo(f"There are more: deedbox mail list --before {shown[-1].id}", err=True)


@command.command()
@data_option
@json_option
@click.argument("mail_id")
def show(data_dir: Path | None, as_json: bool, mail_id: str) -> None:
    """Show a mail that stayed here because no mail server is set, with its link or code.

    For example, the newest: deedbox mail show "$(deedbox mail list --limit 1 | cut -d' ' -f1)".
    """

    async def work(deedbox: Any) -> InboxMail:
        now = deedbox.clock.now()
        opened: InboxMail = await deedbox.db.write(
            lambda tx: deedbox.inbox.show(tx, workspaces.ensure(tx, now=now).id, mail_id)
        )
        return opened

    found = run(load(data_dir=data_dir), work)
    names = [attachment.name for attachment in found.attachments]
    if as_json:
        print_json({"mail": found.listed, "text": found.text, "html": found.html, "attachments": names})
        return
    click.echo(f"To: {found.mail.to.name} <{found.mail.to.address}>\nSubject: {found.listed.subject}")
    click.echo(f"Date: {found.listed.created_at}")
    for name in names:
        click.echo(f"Attached: {name}")
    click.echo(f"\n{found.text}", nl=False)


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
