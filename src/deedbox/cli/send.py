"""`deedbox send`: a file to people to sign, through a server here or elsewhere."""

import sys
import time
from datetime import UTC, datetime
from email.utils import parseaddr
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import msgspec

from deedbox.cli.options import data_option, json_option, print_json
from deedbox.cli.server_client import connect
from deedbox.client import ApiError, Deedbox, Document, LoneSigner, Mail, Message, NewDocument

FAILED = 3
"""The exit code for a file that could not be converted."""
_LOOK_SECONDS = 0.5


class _Asked(msgspec.Struct, frozen=True):
    """The options of `deedbox send`."""

    people: tuple[tuple[str, str], ...]
    title: str | None
    subject: str | None
    message: str | None
    expires: datetime | None
    order: bool
    language: str | None
    draft: bool
    wait: bool


def person(context: click.Context, option: click.Parameter, written: tuple[str, ...]) -> list[tuple[str, str]]:
    """The name and address of each person; both are needed, because both stand in the evidence."""
    people = [parseaddr(text) for text in written]
    for text, (name, address) in zip(written, people, strict=True):
        if not name or "@" not in address:
            raise click.BadParameter(f'{text!r} is not of the form "Name <name@example.com>"', context, option)
    return people


@click.command()
@data_option
@json_option
@click.option("--to", "people", multiple=True, required=True, callback=person, metavar='"NAME <ADDRESS>"',
              help="Who signs; repeat for several.")  # fmt: skip
@click.option("--title", help="What the document is called. Default: the name of the first file.")
@click.option("--message", help="What the invitation says, in your own words.")
@click.option("--subject", help="The subject of the invitation. Default: the usual one, in each person's language.")
@click.option("--expires", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]), metavar="TIME",
              help="Until when it can be signed: 2027-01-31, in UTC, or 2027-01-31T18:00:00+01:00.")  # fmt: skip
@click.option("--order", is_flag=True, help="They sign one after the other, as given. Default: side by side.")
@click.option("--language", help="The language of mails and pages, for example de. Default: en.")
@click.option("--draft", is_flag=True, help="Make the document, and do not send it yet.")
@click.option("--wait", is_flag=True, help="Wait until Word documents and HTML pages are converted and sent.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…",
                type=click.Path(exists=True, dir_okay=False, path_type=Path))  # fmt: skip
def command(data_dir: Path | None, as_json: bool, files: tuple[Path, ...], **options: Any) -> None:
    """Send FILE to people to sign, and print the document's id and status.

    It talks to the server that DEEDBOX_URL names, with the key in DEEDBOX_API_KEY; without them, to the one that runs
    on the data folder. Word documents and HTML pages are converted in the background: without --wait the command does
    not learn whether that fails, but the sender gets a mail. Exit codes: 0 sent, 1 refused, 2 wrong use, 3 with --wait:
    a file could not be converted, and nobody was asked to sign."""
    asked = _Asked(**options)
    if asked.subject and not asked.message:
        raise click.UsageError("--subject needs --message: together they take the place of the usual words.")
    new = _new_document(asked, files[0].stem)
    with connect(data_dir, "deedbox send", ["documents:send", "documents:read"]) as deedbox:
        document = deedbox.documents.create(new, files)
        if asked.wait:
            document = _converted(deedbox, document)
        notes = _notes(deedbox, document)
    if as_json:
        print_json(document)
    else:
        click.echo(f"{document.id}  {document.status}")
    for note in notes:
        click.echo(note, err=True)
    if document.status == "failed":
        sys.exit(FAILED)


def _converted(deedbox: Deedbox, document: Document) -> Document:
    """The document once its files are converted, or could not be."""
    while document.status == "processing":
        time.sleep(_LOOK_SECONDS)
        document = deedbox.documents.get(document.id)
    return document


def _notes(deedbox: Deedbox, document: Document) -> list[str]:
    """What the status alone does not say: why it failed, and where the invitations are."""
    if document.status == "failed":
        return [f"deedbox: {document.error}"]
    if document.status == "processing":
        return ["The files are being converted; the invitations leave after that. To wait for it: deedbox send --wait"]
    if document.status != "sent":
        return []
    try:
        return [_note(mail) for mail in deedbox.mails.list(about=document.id)]
    except ApiError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return []  # the key may send, and not read


def _note(mail: Mail) -> str:
    if mail.status == "inbox":
        return f"No mail server is set: the mail to {mail.to} stays on the server. Read it: deedbox mail show {mail.id}"
    if mail.status == "sent":
        return f"Mailed to {mail.to}."
    return f"The mail to {mail.to} is {mail.status}."


def _new_document(asked: _Asked, file_name: str) -> NewDocument:
    title, expires = asked.title or file_name, asked.expires
    signers = [
        LoneSigner(name=name, email=address, order=number if asked.order else 1)
        for number, (name, address) in enumerate(asked.people, 1)
    ]
    return NewDocument(
        title=title,
        signers=signers,
        message=Message(subject=asked.subject or "", body=asked.message) if asked.message else None,
        expires_at=expires if expires is None or expires.tzinfo else expires.replace(tzinfo=UTC),
        language=asked.language or "en",
        send=not asked.draft,
    )
