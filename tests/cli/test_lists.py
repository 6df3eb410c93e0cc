"""Commands that list things print the list alone on stdout: notes for people go to stderr."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from deedbox import cli
from tests import server

GROUPS = [
    name
    for name in cli.COMMANDS
    if isinstance(group := cli.deedbox.get_command(click.Context(cli.deedbox), name), click.Group)
    and "list" in group.commands
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a server on which there is one key and nothing else."""
    folder = tmp_path_factory.mktemp("lists") / "data"
    with server.running(folder):
        yield folder


@pytest.mark.parametrize("group", GROUPS)
def test_an_empty_list_prints_nothing_on_stdout(data: Path, group: str) -> None:
    listed = server.run(group, "list", data=data)
    (rows,) = (
        found
        for found in json.loads(server.run(group, "list", "--json", data=data).stdout).values()
        if isinstance(found, list)
    )
    assert (listed.returncode, len(listed.stdout.splitlines())) == (0, len(rows)), listed.stderr
    assert rows == [] or group == "keys"
