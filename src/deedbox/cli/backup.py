"""`deedbox backup`: also while the server runs."""

from pathlib import Path

import click

from deedbox.cli import progress
from deedbox.cli.options import data_option, json_option, load, print_json
from deedbox.kernel.backup import backup
from deedbox.kernel.backup.files import files_of
from deedbox.kernel.clock import SystemClock


@click.command()
@data_option
@json_option
@click.argument("target", type=click.Path(path_type=Path))
def command(data_dir: Path | None, as_json: bool, target: Path) -> None:
    """Write the whole installation into the file TARGET, also while the server runs.

    Every row, every stored file and the master key, wherever they lie: keep it as safe as the data folder itself.
    It can be restored into another kind of database or store. Stopped, it goes on when it is run again."""
    settings = load(data_dir=data_dir)
    url = settings.database_url.reveal() if settings.database_url else None
    made = backup(
        settings.data_dir, url, target, now=SystemClock().now(), files=files_of(settings), progress=progress.show_stage
    )
    size = target.stat().st_size
    if as_json:
        print_json({"file": str(target), "size_bytes": size, "created_at": made.created_at, "schema": made.schema})
        return
    click.echo(f"{target}: {size:,} bytes, complete, as of {made.created_at}.")
    if settings.master_key_file:
        click.echo(f"The master key {settings.ring} lies outside the data folder and is not in it: keep a copy of it.")
    else:
        click.echo("It holds the master key: keep it as safe as the data folder.")
