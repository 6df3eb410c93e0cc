"""`deedbox workspace`: the names under which people get its documents."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of an installation that was started once."""
    server.prepare(tmp_path / "data")
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
        (["sender"], "No changes were given"),
    ):
        done = server.run("workspace", *words, data=data)
        assert done.returncode == 1
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    assert profile(data) == before


def test_another_workspace_has_an_owner_who_comes_in_by_link_or_has_an_account(data: Path) -> None:
    made = json.loads(server.run("workspace", "create", "Second Ltd", "--json", data=data).stdout)
    assert (made["name"], made["id"][:4]) == ("Second Ltd", "wsp_")
    assert "/login/deed_login_" in made["login_link"]
    assert profile(data)["name"] == "Main", "the first one stays the installation's own"
    nobody = server.run("workspace", "create", "Third", "--owner", "ann@example.com", data=data)
    assert (nobody.returncode, "Nobody here has the address" in nobody.stderr) == (1, True)
    [(owner,)] = server.rows(data, f"select person_id from memberships where workspace_id = '{made['id']}'")
    server.change(data, "update people set email = 'ann@example.com' where id = ?", (owner,))
    third = server.run("workspace", "create", "Third", "--owner", "Ann@Example.com", data=data)
    assert (third.returncode, "/login/" in third.stdout) == (0, False)
    link = json.loads(server.run("login-link", "--email", "ann@example.com", "--json", data=data).stdout)
    assert "/login/deed_login_" in link["login_link"]
    assert server.rows(data, f"select count(*) from memberships where person_id = '{owner}'") == [(2,)]
    assert server.run("workspace", "create", "", data=data).returncode == 1
