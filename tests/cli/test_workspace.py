"""`deedbox workspace`: the names under which people get its documents."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of an installation that was started once."""
    made = server.run("keys", "create", "--name", "first", data=tmp_path / "data")
    assert made.returncode == 0, made.stderr
    return tmp_path / "data"


def profile(data: Path) -> Any:
    return json.loads(server.run("workspace", "show", "--json", data=data).stdout)


def test_workspace_and_sender_get_their_names(data: Path) -> None:
    renamed = server.run("workspace", "rename", "Hafen GmbH", data=data)
    assert (renamed.returncode, renamed.stdout.splitlines()[0]) == (0, "workspace  Hafen GmbH")
    assert "sender     Hafen GmbH" in renamed.stdout
    sent = server.run("workspace", "sender", "--name", "Mara", "--email", "mara@example.com", data=data)
    assert sent.stdout.splitlines()[1:] == ["sender     Mara", "replies to mara@example.com", "notices    on"]
    assert "notices    off" in server.run("workspace", "sender", "--no-notices", data=data).stdout
    found = profile(data)
    assert (found["name"], found["sender_name"], found["sender_email"]) == ("Hafen GmbH", "Mara", "mara@example.com")
    nobody = server.run("workspace", "sender", "--name", "", "--email", "", data=data)
    assert "replies to nobody: no address is set" in nobody.stdout


def test_what_cannot_be_is_a_sentence_and_changes_nothing(data: Path) -> None:
    before = profile(data)
    for words, says in (
        (["rename", ""], "must not be empty"),
        (["rename", "x" * 101], "at most 100 characters"),
        (["sender", "--email", "nobody"], "is not an e-mail address"),
        (["sender"], "Nothing is to be changed"),
    ):
        done = server.run("workspace", *words, data=data)
        assert done.returncode == 1
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    assert profile(data) == before
