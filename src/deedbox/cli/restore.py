"""`deedbox restore`: into an empty data folder, all or nothing."""

from pathlib import Path

import click

from deedbox.cli import progress
from deedbox.cli.options import data_option, json_option, load, print_json
from deedbox.kernel.backup import restore
from deedbox.kernel.backup.files import files_of


@click.command()
@data_option
@json_option
@click.argument("source", type=click.Path(path_type=Path))
def command(data_dir: Path | None, as_json: bool, source: Path) -> None:
    """Bring the backup SOURCE back into an empty data folder (and, with PostgreSQL, an empty database)."""
    settings = load(data_dir=data_dir)
    url = settings.database_url.reveal() if settings.database_url else None
    found = restore(source, settings.data_dir, url, files=files_of(settings), progress=progress.show_stage)
    if as_json:
        print_json({"data": str(settings.data_dir), "created_at": found.created_at, "schema": found.schema})
    else:
        click.echo(f"{settings.data_dir} is as it was at {found.created_at}.")
        click.echo(f"Start it with: deedbox serve --data {settings.data_dir}")
