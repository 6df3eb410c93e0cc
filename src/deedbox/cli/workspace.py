"""`deedbox workspace`: the names under which people get its documents, and further workspaces."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from msgspec import UNSET

from deedbox.accounts import workspace_profile, workspaces
from deedbox.accounts.caller import Caller
from deedbox.accounts.workspace_profile import WorkspaceChange, WorkspaceProfile
from deedbox.cli.login_link import server_address
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest


@click.group()
def command() -> None:
    """Name the workspace and its sender, as people read them in mails; make further workspaces."""


@command.command()
@data_option
@json_option
def show(data_dir: Path | None, as_json: bool) -> None:
    """Show the workspace's name, its sender, and whether the sender gets notices."""
    _told(_done(data_dir, lambda tx, owner, _: workspace_profile.profile(tx, owner.workspace_id)), as_json)


@command.command()
@data_option
@json_option
@click.argument("name")
def rename(data_dir: Path | None, as_json: bool, name: str) -> None:
    """Give the workspace another NAME: the company in whose name documents are sent."""
    change = WorkspaceChange(name=_bounded("The name", name, limits.WORKSPACE_NAME_CHARS))
    _told(_done(data_dir, lambda tx, owner, now: workspace_profile.change(tx, owner, change, now=now)), as_json)


@command.command()
@data_option
@json_option
@click.argument("name")
@click.option("--owner", metavar="EMAIL", help="A person who has an account here. Without it, a login link is printed.")
def create(data_dir: Path | None, as_json: bool, name: str, owner: str | None) -> None:
    """Make another workspace called NAME, with documents, keys, members and settings of its own."""
    settings = load(data_dir=data_dir)
    wanted = _bounded("The name", name, limits.WORKSPACE_NAME_CHARS)

    async def work(deedbox: Any) -> workspaces.NewWorkspace:
        now = deedbox.clock.now()

        def make(tx: Tx) -> workspaces.NewWorkspace:
            workspaces.ensure(tx, now=now)  # the first one is the installation's own
            return workspaces.create(tx, wanted, owner, now=now)

        made: workspaces.NewWorkspace = await deedbox.db.write(make)
        return made

    workspace, token = run(settings, work, anew=True)
    link = f"{server_address(settings)}/login/{token.reveal()}" if token else None
    if as_json:
        print_json({"id": workspace.id, "name": workspace.name, "login_link": link})
        return
    click.echo(f"workspace  {workspace.name}\nid         {workspace.id}")
    if link:
        click.echo(f"\n{link}\n\nIt signs its owner in once, within {limits.LOGIN_LINK_MINUTES} minutes.")
    else:
        click.echo(f"owner      {owner}, who finds it under “Another workspace”")


@command.command()
@data_option
@json_option
@click.option("--name", help="The person or team that requests signatures. If empty, the workspace.")
@click.option("--email", help="Where replies and notices go. Empty: no address.")
@click.option(
    "--notices/--no-notices", default=None, help="Whether the sender is notified of completion, decline and expiry."
)
def sender(data_dir: Path | None, as_json: bool, name: str | None, email: str | None, notices: bool | None) -> None:
    """Say who sends: the name and address that mails show, and whether notices go there."""
    change = WorkspaceChange(
        sender_name=UNSET if name is None else _bounded("The name", name, limits.PERSON_NAME_CHARS) or None,
        sender_email=UNSET if email is None else _bounded("The address", email, limits.EMAIL_CHARS) or None,
        notices=UNSET if notices is None else notices,
    )
    _told(_done(data_dir, lambda tx, owner, now: workspace_profile.change(tx, owner, change, now=now)), as_json)


def _done(data_dir: Path | None, action: Callable[[Tx, Caller, datetime], WorkspaceProfile]) -> WorkspaceProfile:
    async def work(deedbox: Any) -> WorkspaceProfile:
        now = deedbox.clock.now()
        done: WorkspaceProfile = await deedbox.db.write(
            lambda tx: action(tx, workspaces.operator(workspaces.ensure(tx, now=now).id), now)
        )
        return done

    return run(load(data_dir=data_dir), work)


def _bounded(what: str, text: str, most: int) -> str:
    # An argument that is not UTF-8 arrives with lone surrogates, which no database takes.
    if len(text) > most or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise BadRequest(f"{what} must have at most {most} characters of UTF-8")
    return text


def _told(profile: WorkspaceProfile, as_json: bool) -> None:
    if as_json:
        print_json(profile)
        return
    click.echo(f"workspace  {profile.name}")
    click.echo(f"sender     {profile.sender_name or profile.name}")
    click.echo(f"replies to {profile.sender_email or 'nobody: no address is set'}")
    click.echo(f"notices    {'on' if profile.notices else 'off'}")
