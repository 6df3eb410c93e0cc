"""`deedbox restore`: into an empty data folder, all or nothing."""

import tomllib
from pathlib import Path

import click

from deedbox import wiring
from deedbox.cli import progress
from deedbox.cli.options import data_option, json_option, load, print_json
from deedbox.kernel.backup import restore
from deedbox.kernel.backup.files import files_of
from deedbox.kernel.backup.restore import RestoreSecrets

PLACES = ("_url", "_dir", "_file", "_endpoint")


@click.command()
@data_option
@json_option
@click.argument("source", type=click.Path(path_type=Path))
def command(data_dir: Path | None, as_json: bool, source: Path) -> None:
    """Bring the backup SOURCE into an empty data folder, and into the database and the store that the settings name.

    Of whatever kind those were where it was made: they must be empty. All of it, compared row by row, or nothing.
    Stopped, it goes on when it is run again."""
    settings = load(data_dir=data_dir)
    url = settings.database_url.reveal() if settings.database_url else None
    secrets = RestoreSecrets(wiring.ENCRYPTED_COLUMNS, settings.ring)
    found = restore(
        source, settings.data_dir, url, files=files_of(settings), progress=progress.show_stage, secrets=secrets
    )
    if as_json:
        print_json({"data": str(settings.data_dir), "created_at": found.created_at, "schema": found.schema})
    else:
        click.echo(f"{settings.data_dir} is as it was at {found.created_at}.")
        click.echo(f"Start it with: deedbox serve --data {settings.data_dir}")
        if named := _places_named(settings.data_dir / "deedbox.toml"):
            click.echo(f"deedbox.toml came with the backup and names {', '.join(named)}: see that they fit here.")


def _places_named(file: Path) -> list[str]:
    """The settings of a file that say where something lies."""
    if not file.exists():
        return []
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError:  # the start will say so
        return []
    return [name for name in values if name.endswith(PLACES)]
