"""`deedbox index`, `ask` and `reindex`: without a server and beside one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import nursery, server
from tests.cli.search_commands import ENV, MODULE, WAYS, command, data_folder, result
from tests.search.answers import chat_server
from tests.search.embed.loopback import Request, Response, serving

NO_MODEL = "deedbox: No embedding model is installed. Run: deedbox model install\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    (made / "old").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / "lease.txt").write_text("The tenant pays the rent.\n\nThe deposit is three months of rent.")
    (made / "old" / "Boat.MD").write_text("# Boat\n\nThe boat lies in the harbour.")
    (made / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (made / ".git" / "note.txt").write_text("hidden")
    return made


@pytest.fixture(params=WAYS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A data folder on which no server runs, or one does."""
    with data_folder(tmp_path / "data", request.param) as place:
        yield place


def test_a_folder_is_indexed_asked_and_indexed_again(data: Path, folder: Path) -> None:
    first = result("index", str(folder), data=data)
    assert {name: first[name] for name in ("files", "uploaded", "known", "indexed", "failed", "refused")} == {
        "files": 2, "uploaded": 2, "known": 0, "indexed": 2, "failed": [], "refused": [],
    }  # fmt: skip
    found = result("ask", "how many months is the deposit", "--top-k", "2", data=data)["results"]
    assert (found[0]["metadata"]["filename"], found[0]["text"]) == ("lease.txt", "The deposit is three months of rent.")
    assert len(found) == 2

    (folder / "new.txt").write_text("The roof is new.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    again = result("index", str(folder), data=data, code=1)
    assert (again["uploaded"], again["known"], again["indexed"]) == (1, 2, 3)
    assert [Path(refused["file"]).name for refused in again["refused"]] == ["broken.pdf"]

    assert result("reindex", data=data) == {"workspaces": 1, "chunks": again["chunks"]}
    shown = command("ask", "roof", "--mode", "keyword", data=data)
    assert shown.stdout.startswith("1. new.txt")
    assert "The roof is new." in shown.stdout
    assert command("ask", "nothingofthekind", "--mode", "keyword", data=data).stdout == "No results found.\n"
    assert result("keys", "list", data=data)["keys"] == [] or all(
        key["name"] != "deedbox ask" for key in result("keys", "list", data=data)["keys"]
    )


def test_an_answer_is_shown_in_sentences_with_what_is_unsupported_marked(tmp_path: Path, folder: Path) -> None:
    truth = "The deposit is three months of rent."

    def answer(request: Request) -> Response:
        passages = chat_server.Asked(request.path, dict(request.headers), request.body)
        number = passages.holding("deposit")
        lines = [chat_server.line(truth, (number, truth)), chat_server.line("The moon is a cheese.", (number, truth))]
        return Response(200, b"".join(map(chat_server.piece, lines)) + chat_server.piece(None, "stop"))

    data = tmp_path / "data"
    assert result("index", str(folder), data=data)["indexed"] == 2
    plain = result("ask", "how many months is the deposit", "--answer", data=data)
    assert (plain["model"], plain["found"], plain["sentences"][0]["text"]) == (None, True, truth)
    with serving(answer) as address:
        chat = {"DEEDBOX_CHAT_URL": f"{address}/v1", "DEEDBOX_CHAT_MODEL": "small"}
        env = {**ENV, **chat, "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
        words = ("ask", "how many months is the deposit", "--answer", "--data", str(data))
        alone = nursery.run(MODULE, *words, env=server.environment(data, **env))
        running = server.start(data, module=MODULE, env=env)
        try:
            beside = command(*words[:-2], data=data)
        finally:
            running.stop()
            assert running.process.stdout is not None
            running.process.stdout.close()
    assert (alone.returncode, alone.stderr, beside.stderr) == (0, "", "")
    assert alone.stdout == beside.stdout
    first, second, reason, *_ = alone.stdout.splitlines()
    assert first in (f"{truth} [1]", f"{truth} [2]", f"{truth} [3]")
    assert (second, reason) == (
        "The moon is a cheese. [unsupported]",
        "   “cheese” is not in the sentences that it quotes from.",
    )
    assert command("ask", "rent", "--answer", "--top-k", "31", data=data).returncode == 2


def test_without_a_model_each_command_says_what_to_run(tmp_path: Path, folder: Path) -> None:
    for words in (("index", str(folder)), ("ask", "rent"), ("reindex",)):
        done = server.run(*words, data=tmp_path / "data")
        assert (done.returncode, done.stdout, done.stderr) == (1, "", NO_MODEL)


def test_asking_before_anything_is_indexed_says_so(data: Path) -> None:
    result("keys", "create", "--name", "first", data=data)
    done = command("ask", "rent", data=data)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "deedbox: No documents indexed. Call /documents/index first.\n"


def test_an_empty_folder_and_an_empty_question_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = command("index", str(tmp_path / "empty"), data=tmp_path / "data")
    assert (done.returncode, "has a supported type (pdf, docx" in done.stdout) == (0, True)
    assert command("ask", "  ", data=tmp_path / "data").returncode == 2
    assert command("index", str(tmp_path / "missing"), data=tmp_path / "data").returncode == 2
