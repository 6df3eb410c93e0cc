"""`deedbox keys` and the other commands: on an empty folder, and beside a running server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from deedbox import VERSION
from deedbox.cli import COMMANDS, deedbox
from deedbox.kernel import limits
from tests import server
from tests.kinds import kinds


def keys(data: Path, *words: str) -> Any:
    """What the command prints as JSON."""
    done = server.run("keys", *words, "--json", data=data)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failure(data: Path, *words: str, code: int = 1) -> str:
    done = server.run(*words, data=data)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    with server.running(tmp_path_factory.mktemp("keys") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def data(running: server.Server) -> Path:
    return running.log.with_suffix("")


def status(running: server.Server, key: str, path: str = "/health") -> int:
    with running.client(key) as http:
        return http.get(path).status_code


def test_a_key_made_beside_the_server_works_at_once_with_search_scopes(running: server.Server, data: Path) -> None:
    made = keys(data, "create", "--name", "reader")
    assert made["scopes"] == ["search:read", "search:write", "search:query", "embeddings:create"]
    assert (made["tier"], made["status"], made["created_by"]) == ("professional", "active", "operator")
    assert status(running, made["key"]) == 200
    assert status(running, made["key"], "/api/v1/keys") == 403


def test_a_key_gets_the_scopes_and_the_limit_that_were_asked_for(running: server.Server, data: Path) -> None:
    words = ("--scope", "keys:read", "--tier", "enterprise", "--per-minute", "7", "--per-day", "70")
    made = keys(data, "create", "--name", "lister", *words)
    assert made["rate_limit"] == {"per_minute": 7, "per_day": 70}
    with running.client(made["key"]) as http:
        answer = http.get("/api/v1/me")
        assert answer.json()["key"]["scopes"] == ["keys:read"]
        assert answer.headers["x-ratelimit-limit"] == "7"


def test_a_revoked_key_fails_from_the_next_request_on(running: server.Server, data: Path) -> None:
    made = keys(data, "create", "--name", "short-lived")
    assert status(running, made["key"]) == 200
    assert keys(data, "revoke", made["id"]) == {"id": made["id"], "status": "revoked", "also_revoked": 0}
    assert status(running, made["key"]) == 401
    assert keys(data, "revoke", made["id"])["status"] == "revoked"


def test_an_owner_changes_a_key_upwards_and_revokes_it_with_what_it_made(running: server.Server, data: Path) -> None:
    wish = ("--scope", "keys:write", "--tier", "starter", "--expires-at", "2198-01-01T00:00:00Z")
    made = keys(data, "create", "--name", "small", *wish)
    child = {"name": "child", "scopes": ["keys:write"], "tier": "starter", "expires_at": "2198-01-01T00:00:00Z"}
    with running.client(made["key"]) as http:
        answer = http.post("/api/v1/keys", json=child)
        assert answer.status_code == 201, answer.text
    changed = keys(data, "change", made["id"], "--name", "large", "--per-minute", "5000", "--no-end")
    assert (changed["name"], changed["expires_at"]) == ("large", None)
    assert changed["rate_limit"] == {"per_minute": 5000, "per_day": 5000}
    assert keys(data, "change", made["id"], "--per-day", "70")["rate_limit"] == {"per_minute": 5000, "per_day": 70}
    assert keys(data, "change", made["id"], "--tier-limits")["rate_limit"] is None
    told = server.run("keys", "change", made["id"], "--expires-at", "2199-01-01T00:00:00Z", data=data).stdout
    assert "60 requests in a minute, 5000 in a day; it ends 2199-01-01T00:00:00Z." in told
    assert "--no-end stands instead" in failure(
        data, "keys", "change", made["id"], "--no-end", "--expires-at", "2199-01-01T00:00:00Z", code=2
    )
    assert "what is to change" in failure(data, "keys", "change", made["id"], code=2)
    assert server.run("keys", "revoke", made["id"], data=data).stdout.endswith(
        "and so are 1 keys that it had created.\n"
    )
    assert status(running, answer.json()["key"]) == 401


def test_the_list_shows_every_key_but_none_in_clear(running: server.Server, data: Path) -> None:
    made = keys(data, "create", "--name", "to be listed")
    done = server.run("keys", "list", "--json", data=data)
    listed = {key["id"]: key for key in json.loads(done.stdout)["keys"]}
    assert listed[made["id"]]["name"] == "to be listed"
    assert any(key["name"] == "First key" for key in listed.values())
    assert made["key"] not in done.stdout
    told = server.run("keys", "list", data=data).stdout
    assert made["id"] in told
    assert made["key"] not in told


def test_the_list_is_whole_however_many_keys_were_revoked_before(tmp_path: Path) -> None:
    data, many = tmp_path / "data", 2 * limits.KEYS_PER_WORKSPACE
    made = keys(data, "create", "--name", "revoked again and again")
    old = [(f"{made['id'][:-5]}~{number:05}", b"%d" % number) for number in range(many)]
    columns = "workspace_id, name, prefix, last4, scopes, tier, created_at, created_by"
    values = f"select ?, ?, created_at, {columns} from api_keys where id = '{made['id']}'"
    server.change(data, f"insert into api_keys (id, key_hash, revoked_at, {columns}) {values}", *old)
    listed = [key["id"] for key in keys(data, "list")["keys"]]
    assert listed == sorted([made["id"], *(key_id for key_id, _ in old)], reverse=True)


def test_an_expired_key_does_not_open(running: server.Server, data: Path) -> None:
    assert (
        status(running, keys(data, "create", "--name", "later", "--expires-at", "2199-01-01T00:00:00Z")["key"]) == 200
    )
    assert "must be in the future" in failure(
        data, "keys", "create", "--name", "past", "--expires-at", "2001-01-01T00:00:00Z"
    )


def test_what_cannot_be_is_said_in_a_sentence(data: Path) -> None:
    assert failure(data, "keys", "revoke", "key_nowhere") == "deedbox: API key does not exist\n"
    assert "--name" in failure(data, "keys", "create", code=2)
    assert "nonsense" in failure(data, "keys", "create", "--name", "x", "--scope", "nonsense", code=2)
    assert "per-minute" in failure(data, "keys", "create", "--name", "x", "--per-minute", "0", code=2)
    for name in ("", "x" * (limits.KEY_NAME_CHARS + 1), "half a character \udcc3"):
        assert "characters of UTF-8" in failure(data, "keys", "create", "--name", name, code=2)
    assert "There is no given-up job job_x" in failure(data, "jobs", "retry", "job_x")


def test_a_login_link_made_beside_the_server_works_once(running: server.Server, data: Path) -> None:
    done = server.run("login-link", "--json", data=data)
    link = json.loads(done.stdout)["login_link"]
    with running.client() as http:
        assert http.post("/login/" + link.rpartition("/")[2]).status_code == 303
        assert http.post("/login/" + link.rpartition("/")[2]).status_code == 401


def test_nothing_was_given_up_on_a_healthy_server(data: Path) -> None:
    assert json.loads(server.run("jobs", "list", "--json", data=data).stdout) == {"jobs": []}
    listed = server.run("jobs", "list", data=data)
    assert (listed.stdout, listed.stderr) == ("", "No job was given up.\n")


def test_on_an_empty_folder_the_commands_prepare_the_installation(tmp_path: Path) -> None:
    made = keys(tmp_path / "data", "create", "--name", "before the first start")
    with server.running(tmp_path / "data") as running:
        assert running.api_key is None
        assert status(running, made["key"]) == 200


@pytest.mark.parametrize(
    "words",
    [("keys", "list"), ("keys", "revoke", "key_x"), ("keys", "change", "key_x", "--no-end"), ("keys", "rotate-master"),
     ("jobs", "list"), ("reindex",),
     ("ask", "who?")],
    ids=" ".join,
)  # fmt: skip
def test_a_mistyped_folder_is_refused_and_does_not_become_an_installation(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    told = failure(tmp_path / "dtaa", *words)
    assert "no installation" in told
    assert "--data DIR" in told
    assert not (tmp_path / "dtaa").exists()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_doctor_finds_no_installation_and_makes_none(tmp_path: Path, postgres_url: str, database: str) -> None:
    env = {"DEEDBOX_DATABASE_URL": postgres_url} if database == "postgresql" else {}
    done = server.run("doctor", "--json", data=tmp_path / "dtaa", env=env)
    (last,) = [finding for finding in json.loads(done.stdout)["findings"] if finding["verdict"] == "bad"]
    assert (done.returncode, "no installation" in last["text"]) == (1, True)
    assert not (tmp_path / "dtaa").exists()


def test_before_the_first_start_the_doctor_finds_nothing_wrong_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "deedbox", "doctor", "--json"]
    done = subprocess.run(command, env=server.environment(), capture_output=True, text=True, timeout=120, check=False)
    found = {finding["subject"]: finding["verdict"] for finding in json.loads(done.stdout)["findings"]}
    assert (done.returncode, found["data"], found["tools"]) == (0, "note", "good")
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_finds_a_running_installation_well(data: Path) -> None:
    done = server.run("doctor", "--json", data=data)
    verdicts = {finding["subject"]: finding["verdict"] for finding in json.loads(done.stdout)["findings"]}
    assert {verdicts[subject] for subject in ("database", "master key", "disk")} == {"good"}
    forgets = verdicts.get("postgres") == "bad"  # the tests' own cluster, of which the doctor rightly warns
    bad = [subject for subject, verdict in verdicts.items() if verdict == "bad"]
    assert (done.returncode, bad) == ((1, ["postgres"]) if forgets else (0, []))


def test_commands_that_meet_on_an_empty_folder_all_succeed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deedbox", "keys", "create", "--json", "--data", str(tmp_path / "data"), "--name"]
    kinds.without_tables(tmp_path / "data")
    env = server.environment(tmp_path / "data")
    together = [
        subprocess.Popen([*command, str(number)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    told = [process.communicate(timeout=120) for process in together]
    assert [process.returncode for process in together] == [0, 0, 0], told
    made = {json.loads(output)["id"] for output, _ in told}
    assert {key["id"] for key in keys(tmp_path / "data", "list")["keys"]} == made


def test_keys_lie_in_postgresql_where_the_settings_say_so(tmp_path: Path, postgres_url: str) -> None:
    env = {"DEEDBOX_DATABASE_URL": postgres_url}
    done = server.run("keys", "create", "--name", "x", "--json", data=tmp_path / "data", env=env)
    with server.running(tmp_path / "data", env=env) as running:
        assert status(running, json.loads(done.stdout)["key"]) == 200


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None, name
        yield from leaves(found, (*words, name))


def test_every_command_helps_and_can_print_json_and_takes_the_data_folder() -> None:
    found = dict(leaves(deedbox))
    assert {words[0] for words in found} == set(COMMANDS)
    for words, command in found.items():
        helped = CliRunner().invoke(deedbox, [*words, "--help"])
        assert helped.exit_code == 0, words
        assert command.help, words
        asked = {"--json", "--data"}
        if words in (("demo",), ("mcp",)):  # the one leaves no folder behind, the other's output is a protocol
            asked = {"--json"} if words == ("demo",) else {"--data"}
        assert asked <= {option for each in command.params for option in each.opts}, words
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help or option.show_default, (words, option.name)


def test_the_program_itself_helps_and_knows_its_version(tmp_path: Path) -> None:
    def told(*words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "deedbox", *words], capture_output=True, text=True, check=True)
        return done.stdout

    assert all(name in told("--help") for name in COMMANDS)
    assert told("--version") == f"deedbox, version {VERSION}\n"
    unknown = subprocess.run([sys.executable, "-m", "deedbox", "sevre"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, "No such command 'sevre'" in unknown.stderr) == (2, True)
