"""`deedbox template`: made and listed, through a server here or elsewhere."""

from pathlib import Path

import click

from deedbox.cli.options import data_option, json_option, print_json
from deedbox.cli.server_client import connect
from deedbox.client import NewTemplate, Role, Template


@click.group()
def command() -> None:
    """Create and list templates for documents.

    It talks to the server that DEEDBOX_URL names, with the key in DEEDBOX_API_KEY; without them, to the one that runs
    on the data folder."""


@command.command()
@data_option
@json_option
@click.option("--name", help="What it is called. Default: the name of the first file.")
@click.option("--role", "roles", multiple=True,
              help="A signer role, such as Tenant; repeat for several. Default: the roles in the file.")  # fmt: skip
@click.option("--order", is_flag=True, help="The roles sign one after the other, as given. Default: side by side.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…",
                type=click.Path(exists=True, dir_okay=False, path_type=Path))  # fmt: skip
def create(
    data_dir: Path | None, as_json: bool, name: str | None, roles: tuple[str, ...], order: bool, files: tuple[Path, ...]
) -> None:
    """Make a template of FILE, and print its id, status and roles.

    Text tags and the fields of a fillable PDF are found. Exit codes: 0 made, 1 refused, 2 wrong use."""
    wanted = [Role(name=role, order=number if order else 1) for number, role in enumerate(roles, 1)]
    with connect(data_dir, "deedbox template", ["documents:write"]) as deedbox:
        made = deedbox.templates.create(NewTemplate(name=name or files[0].stem, roles=wanted), files)
    if as_json:
        print_json(made)
    else:
        click.echo(f"{made.id}  {made.status}  {_roles(made)}")


@command.command("list")
@data_option
@json_option
def list_templates(data_dir: Path | None, as_json: bool) -> None:
    """List the templates, newest first."""
    with connect(data_dir, "deedbox template", ["documents:read"]) as deedbox:
        found = list(deedbox.templates.list(limit=100))
    if as_json:
        print_json({"templates": found})
        return
    for template in found:
        click.echo(f"{template.id}  version {template.version}  {template.status:10}  {template.name}")
        click.echo(f"    {_roles(template)}")
    if not found:
        click.echo("There is no template.", err=True)


def _roles(template: Template) -> str:
    return ", ".join(role.name for role in template.roles)
