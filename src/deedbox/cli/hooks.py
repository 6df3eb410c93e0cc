"""`deedbox hooks`: webhooks, and a receiver to try them with. Works beside a running server."""

import asyncio
import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from deedbox.accounts import workspaces
from deedbox.accounts.caller import Caller
from deedbox.cli import limits, local_port
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.cli.receiver import ReceivedDelivery, Receiver
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.webhooks import catalogue, deliveries, hooks, signature
from deedbox.webhooks.hook import CreatedHook, Delivery, Hook, NewHook, Recovery

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _text(context: click.Context, option: click.Parameter, text: str | None) -> str | None:  # noqa: ARG001
    # An argument that is not UTF-8 arrives with lone surrogates, which no database takes.
    if text is not None and (len(text) > shared_limits.EGRESS_URL_CHARS or _CONTROL.search(text)):
        raise click.BadParameter(f"it must have at most {shared_limits.EGRESS_URL_CHARS} characters of UTF-8")
    return text


def _description(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    if text is not None and len(text) > shared_limits.HOOK_DESCRIPTION_CHARS:
        raise click.BadParameter(f"it must have at most {shared_limits.HOOK_DESCRIPTION_CHARS} characters")
    return _text(context, option, text)


@click.group()
def command() -> None:
    """Create, list and delete webhooks; receive their deliveries here, and send them again."""


@command.command()
@data_option
@json_option
@click.option("--event", "events", multiple=True, type=click.Choice(list(catalogue.KINDS)), metavar="EVENT",
              help="What to send; repeat for several. Default: every kind of event.")  # fmt: skip
@click.option("--description", callback=_description, help="What it is for.")
@click.argument("target_url", callback=_text)
def create(
    data_dir: Path | None, as_json: bool, events: tuple[str, ...], description: str | None, target_url: str
) -> None:
    """Send events to TARGET_URL, signed over the body alone, and show the secret, once.

    Webhooks made by POST /api/v1/hooks are signed over a timestamp too. An address that is not public must be in
    DEEDBOX_EGRESS_ALLOW, here and for the server."""
    new = NewHook(target_url, events=list(events or catalogue.KINDS), description=description)

    async def work(deedbox: Any) -> CreatedHook:
        await deedbox.egress.judge(target_url)
        now = deedbox.clock.now()
        made: CreatedHook = await deedbox.db.write(
            lambda tx: hooks.create(tx, deedbox.box, _operator(tx, now), new, managed_by="dashboard", now=now)
        )
        return made

    made = run(load(data_dir=data_dir), work)
    secret = made.secret.reveal() if made.secret else None
    if as_json:
        print_json({**msgspec.structs.asdict(made.hook), **({"secret": secret} if secret else {})})
    elif secret is None:
        click.echo(f"{made.hook.id} already sends these events there. Its secret was shown when it was created.")
    else:
        click.echo(f"{secret}\n")
        click.echo(f"{made.hook.id} sends to {target_url}. This secret signs it and is shown only now; keep it safe.")


@command.command("list")
@data_option
@json_option
def list_hooks(data_dir: Path | None, as_json: bool) -> None:
    """List the webhooks, newest first."""

    async def work(deedbox: Any) -> list[Hook]:
        now = deedbox.clock.now()
        most = shared_limits.HOOKS_PER_WORKSPACE
        found: list[Hook] = await deedbox.db.write(
            lambda tx: hooks.page(tx, _workspace(tx, now), limit=most, cursor=None)
        )
        return found

    found = run(load(data_dir=data_dir), work)
    if as_json:
        print_json({"hooks": found})
        return
    for hook in found:
        click.echo(f"{hook.id}  {hook.status:8} {hook.managed_by:9} {hook.signature_scheme:11} {hook.target_url}")
        click.echo(f"    {', '.join(hook.events)}")
        if hook.disabled_reason:
            click.echo(f"    {hook.disabled_reason}")
    if not found:
        click.echo("There is no webhook.", err=True)


@command.command()
@data_option
@json_option
@click.argument("hook_id", callback=_text)
def delete(data_dir: Path | None, as_json: bool, hook_id: str) -> None:
    """Delete a webhook; nothing more is sent to it."""

    async def work(deedbox: Any) -> None:
        now = deedbox.clock.now()
        await deedbox.db.write(lambda tx: hooks.delete(tx, _operator(tx, now), hook_id, now=now))

    run(load(data_dir=data_dir), work)
    if as_json:
        print_json({"id": hook_id, "status": "deleted"})
    else:
        click.echo(f"{hook_id} is deleted.")


@command.command()
@data_option
@json_option
@click.option("--hook", "hook_id", callback=_text, help="The webhook that missed something; needs --since.")
@click.option("--since", type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z"]),
              help="Resend events not delivered since this time, for example 2027-01-31T00:00:00Z")  # fmt: skip
@click.argument("delivery_id", required=False, callback=_text)
def replay(
    data_dir: Path | None, as_json: bool, hook_id: str | None, since: datetime | None, delivery_id: str | None
) -> None:
    """Send a delivery again, or with --hook and --since everything that never arrived.

    The running server sends it within seconds; if none runs, the next one does."""
    settings = load(data_dir=data_dir)
    if delivery_id is not None and hook_id is None and since is None:
        again = run(settings, lambda deedbox: _redeliver(deedbox, delivery_id))
        shown, sentence = msgspec.structs.asdict(again), f"{again.id} takes {again.type} {again.event_id} there again."
    elif delivery_id is None and hook_id is not None and since is not None:
        planned = run(settings, lambda deedbox: _recover(deedbox, hook_id, since))
        shown, sentence = {"planned": planned}, f"{planned} deliveries are on their way."
    else:
        raise click.UsageError("Give either a DELIVERY_ID, or --hook and --since.")
    if as_json:
        print_json(shown)
    else:
        click.echo(sentence)


async def _redeliver(deedbox: Any, delivery_id: str) -> Delivery:
    now = deedbox.clock.now()
    again: Delivery = await deedbox.db.write(
        lambda tx: deliveries.redeliver(tx, _workspace(tx, now), delivery_id, now=now)
    )
    return again


async def _recover(deedbox: Any, hook_id: str, since: datetime) -> int:
    """How many deliveries were planned, in as many parts as it takes."""
    planned = 0
    while True:
        now = deedbox.clock.now()
        part: Recovery = await deedbox.db.write(
            lambda tx, now=now: hooks.recover(tx, _workspace(tx, now), hook_id, since, now=now)
        )
        planned += part.planned
        if not part.has_more:
            return planned


class _Listen(msgspec.Struct, frozen=True):
    """The options of `deedbox hooks listen`."""

    host: str
    port: int
    hook_id: str | None
    secret_file: Path | None
    status: int
    count: int


@command.command()
@data_option
@json_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=9000, show_default=True, help="0 takes a free one.")
@click.option("--hook", "hook_id", callback=_text, help="Check signatures with the secret of this webhook.")
@click.option("--secret-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Check signatures with the secret in this file.")  # fmt: skip
@click.option("--status", type=click.IntRange(200, 599), default=200, show_default=True,
              help="What to answer. A signature that does not fit is answered with 401.")  # fmt: skip
@click.option("--count", type=click.IntRange(1, limits.HOOK_LISTEN_DELIVERIES), default=limits.HOOK_LISTEN_DELIVERIES,
              help="Stop after this many deliveries.")  # fmt: skip
def listen(data_dir: Path | None, as_json: bool, **options: Any) -> None:
    """Receive deliveries on this machine, show each and check its signature, until Ctrl-C."""
    asked = _Listen(**options)
    if asked.hook_id is not None and asked.secret_file is not None:
        raise click.UsageError("Give either --hook or --secret-file.")
    secret = _secret(data_dir, asked.hook_id, asked.secret_file)
    listener = local_port.bind(asked.host, asked.port)
    receiver = Receiver(secret, asked.status, asked.count, _show_json if as_json else _show, SystemClock())
    _announce(local_port.address(listener), secret is not None, as_json=as_json)

    async def serve() -> None:
        with local_port.stopped_by_signals(receiver):
            await receiver.serve(sockets=[listener])

    asyncio.run(serve())


def _secret(data_dir: Path | None, hook_id: str | None, secret_file: Path | None) -> Secret | None:
    if secret_file is not None:
        text = secret_file.read_text(encoding="utf-8").strip()
        if not text.startswith(signature.PREFIX):
            raise click.BadParameter(f"there is no secret in it, which begins with {signature.PREFIX}")
        return Secret(text)
    if hook_id is None:
        return None

    async def work(deedbox: Any) -> Secret:
        now = deedbox.clock.now()
        found: Secret = await deedbox.db.write(
            lambda tx: hooks.current_secret(tx, deedbox.box, _workspace(tx, now), hook_id, now=now)
        )
        return found

    return run(load(data_dir=data_dir), work)


def _announce(address: str, checked: bool, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"address": address, "checks_signatures": checked}))
    else:
        click.echo(f"Receiving deliveries at {address}. Stop it with Ctrl-C.")
        if not checked:
            click.echo("Signatures are not checked: give --hook or --secret-file.")
    sys.stdout.flush()


def _show_json(received: ReceivedDelivery) -> None:
    click.echo(msgspec.json.encode(received).decode())
    sys.stdout.flush()


def _show(received: ReceivedDelivery) -> None:
    told = received.type or "no X-Service-Event", received.event_id or "no X-Service-Event-Id"
    click.echo(f"{received.received_at}  {'  '.join(told)}  attempt {received.attempt or '?'}  → {received.status}")
    if received.verdict is not None:
        click.echo(f"    {received.verdict.scheme}: {received.verdict.reason}")
    try:
        body = json.dumps(json.loads(received.body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        body = received.body
    for line in _CONTROL.sub("\N{REPLACEMENT CHARACTER}", body).splitlines():
        click.echo(f"    {line}")
    sys.stdout.flush()


def _workspace(tx: Tx, now: datetime) -> str:
    return workspaces.ensure(tx, now=now).id


def _operator(tx: Tx, now: datetime) -> Caller:
    return workspaces.operator(_workspace(tx, now))
