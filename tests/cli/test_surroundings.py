"""What `deedbox doctor` finds around an installation, each with a real fault."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from deedbox.cli import doctor, surroundings
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import migrate
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings
from deedbox.pdf.marks import fonts
from tests import server
from tests.kinds import kinds
from tests.otlp import collecting
from tests.search.answers import chat_server
from tests.search.embed.loopback import Request, Response, serving


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    with server.running(tmp_path_factory.mktemp("doctor") / "data", env={"DEEDBOX_TSA_PUBLIC": "true"}) as one:
        yield one


def found(data: Path, subject: str, **env: str) -> dict[str, str]:
    """What the doctor says of the subject: verdict, text and next step; empty if nothing."""
    done = server.run("doctor", "--json", data=data, env=env)
    findings = [one for one in json.loads(done.stdout)["findings"] if one["subject"] == subject]
    return findings[0] if findings else {}


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_the_public_address_is_asked(running: server.Server) -> None:
    data = running.log.with_suffix("")
    assert found(data, "address") == {}
    assert found(data, "address", DEEDBOX_BASE_URL=running.address)["verdict"] == "good"
    dead = found(data, "address", DEEDBOX_BASE_URL=f"http://127.0.0.1:{closed_port()}")
    assert (dead["verdict"], "does not answer" in dead["text"]) == ("bad", True)
    # TLS where none is spoken: what a wrong certificate looks like too.
    https = running.address.replace("http:", "https:")
    assert found(data, "address", DEEDBOX_BASE_URL=https)["verdict"] == "bad"


def test_doctor_names_settings_that_differ_from_the_servers(running: server.Server) -> None:
    data, same = running.log.with_suffix(""), {"DEEDBOX_TSA_PUBLIC": "true"}
    assert found(data, "server", **same)["verdict"] == "good"
    chat = {"DEEDBOX_CHAT_URL": running.address, "DEEDBOX_CHAT_MODEL": "m", "DEEDBOX_CHAT_KEY": "sk-guessable"}
    differing = found(data, "server", **same, **chat)
    assert differing["verdict"] == "bad"
    assert all(name in differing["text"] for name in chat), differing
    assert "DEEDBOX_TSA_PUBLIC" in found(data, "server")["text"]
    assert found(data, "server", **same, DEEDBOX_LOG_FORMAT="text")["verdict"] == "good"


def test_doctor_says_where_the_running_server_listens_or_one_would(running: server.Server, tmp_path: Path) -> None:
    data, own = running.log.with_suffix(""), {"DEEDBOX_TSA_PUBLIC": "true", "DEEDBOX_PORT": "8081"}
    assert found(data, "settings", **own)["text"] == f"data folder {data}; its server listens on {running.address}"
    nobody = found(tmp_path / "data", "settings", **own)
    assert nobody["text"].endswith("; a server would listen on http://127.0.0.1:8081")
    assert not (tmp_path / "data").exists()


def test_doctor_says_where_a_killed_server_would_listen(tmp_path: Path) -> None:
    with server.running(tmp_path / "data") as one:
        one.kill()
        assert found(tmp_path / "data", "settings")["text"].endswith("would listen on http://127.0.0.1:8080")


def test_doctor_says_when_no_server_runs_whose_settings_it_knows(tmp_path: Path) -> None:
    data, key = tmp_path / "data", "sk-of-the-server"
    chat = {"DEEDBOX_CHAT_URL": "http://127.0.0.1:9", "DEEDBOX_CHAT_MODEL": "m", "DEEDBOX_CHAT_KEY": key}
    killed = server.start(data, env=chat)
    note = data / "deedbox.settings"
    assert note.stat().st_mode & 0o077 == 0
    assert key not in note.read_text()
    killed.kill()
    assert kinds.url(data) or found(data, "server")["verdict"] == "note"
    with server.running(data, env=chat):
        assert found(data, "server", **chat)["verdict"] == "good"
    assert not note.exists()
    assert found(data, "server")["verdict"] == "note"


def test_a_public_address_of_a_server_that_does_not_run_is_no_fault(tmp_path: Path) -> None:
    server.prepare(tmp_path / "data")
    assert server.run("keys", "create", "--name", "first", data=tmp_path / "data").returncode == 0
    dead = f"http://127.0.0.1:{closed_port()}"
    assert found(tmp_path / "data", "address", DEEDBOX_BASE_URL=dead)["verdict"] == "note"


def test_a_proxy_that_nobody_told_of_is_named(running: server.Server) -> None:
    data, https = running.log.with_suffix(""), running.address.replace("http:", "https:")
    named = found(data, "proxy", DEEDBOX_BASE_URL=https)
    assert (named["verdict"], "DEEDBOX_TRUSTED_PROXIES" in named["next_step"]) == ("bad", True)
    assert found(data, "proxy", DEEDBOX_BASE_URL=https, DEEDBOX_TRUSTED_PROXIES="127.0.0.1/32") == {}


def test_the_time_stamp_authority_is_asked(running: server.Server) -> None:
    data, here = running.log.with_suffix(""), {"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
    assert found(data, "timestamps", DEEDBOX_TSA_URL=f"{running.address}/tsa", **here)["verdict"] == "good"
    assert found(data, "timestamps", DEEDBOX_TSA_URL=f"{running.address}/nothing", **here)["verdict"] == "bad"


def test_the_collector_of_traces_is_asked(running: server.Server) -> None:
    data = running.log.with_suffix("")
    assert found(data, "traces") == {}
    with collecting() as collected:
        assert found(data, "traces", DEEDBOX_TRACES_URL=collected.url)["verdict"] == "good"
        collected.status = 404
        wrong = found(data, "traces", DEEDBOX_TRACES_URL=collected.url)
    assert (wrong["verdict"], wrong["text"]) == ("bad", "The collector answered with status 404")
    assert found(data, "traces", DEEDBOX_TRACES_URL=collected.url)["verdict"] == "bad"


def test_the_chat_endpoint_is_asked(running: server.Server) -> None:
    data, here = running.log.with_suffix(""), {"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8", "DEEDBOX_CHAT_MODEL": "small"}
    status = 200

    def answer(request: Request) -> Response:
        assert json.loads(request.body)["model"] == "small"
        return Response(status, chat_server.piece("yes", "stop"))

    assert found(data, "chat") == {}
    with serving(answer) as address:
        good = found(data, "chat", DEEDBOX_CHAT_URL=f"{address}/v1", **here)
        assert (good["verdict"], good["text"]) == ("good", f"small at {address}/v1 answers")
        refused = found(data, "chat", DEEDBOX_CHAT_URL=f"{address}/v1", DEEDBOX_CHAT_MODEL="small")
        assert (refused["verdict"], "not public" in refused["text"]) == ("bad", True)
        status = 401
        wrong = found(data, "chat", DEEDBOX_CHAT_URL=f"{address}/v1", DEEDBOX_CHAT_KEY="sesame", **here)
    assert (wrong["verdict"], "refuses the key" in wrong["text"], "sesame" in str(wrong)) == ("bad", True, False)
    assert found(data, "chat", DEEDBOX_CHAT_URL=f"{address}/v1", **here)["verdict"] == "bad"


def test_the_endpoints_of_embeddings_and_reranker_are_asked(running: server.Server) -> None:
    data, here = running.log.with_suffix(""), {"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
    answers = {
        "/v1/embeddings": {"data": [{"index": 0, "embedding": [0.6, 0.8, 0.0]}]},
        "/rerank": [{"index": 0, "score": 0.9}],
    }
    with serving(lambda request: Response(200, json.dumps(answers[request.path]).encode())) as address:
        told = {
            **here,
            "DEEDBOX_EMBEDDING_URL": f"{address}/v1",
            "DEEDBOX_EMBEDDING_MODEL": "small",
            "DEEDBOX_RERANK_URL": address,
        }
        model, reranker = found(data, "model", **told), found(data, "reranker", **told)
        answers.clear()
        lost = found(data, "reranker", **told)
    assert (model["verdict"], model["text"]) == ("good", f"small at {address}/v1, 3 dimensions")
    assert (reranker["verdict"], reranker["text"]) == ("good", f"{address} orders passages")
    assert (lost["verdict"], address in lost["text"]) == ("bad", True)
    gone = found(data, "model", **told)
    assert (gone["verdict"], "Nothing is indexed meanwhile" in gone["next_step"]) == ("bad", True)
    assert found(data, "reranker") == {}


def test_fonts_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (good,) = doctor._fonts(Settings())
    assert good.verdict == "good"
    monkeypatch.setattr(fonts, "PACKAGES", (*fonts.PACKAGES, "fontpkg_of_nobody"))
    (bad,) = doctor._fonts(Settings())
    assert (bad.verdict, "fontpkg_of_nobody" in bad.text) == ("bad", True)


def test_a_postgres_that_is_too_old_is_refused_at_the_start_and_by_the_doctor(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "POSTGRES_VERSION_MIN", 99)
    with pytest.raises(SetupError, match="is too old: Deedbox needs 99 or newer") as refused:
        migrate.migrate_postgres(postgres_url)
    assert "pg_upgrade" in refused.value.next_step
    (told,) = doctor._guarded(surroundings.postgres, Settings(database_url=Secret(postgres_url)))
    assert (told.subject, told.verdict, "too old" in told.text) == ("postgres", "bad", True)


def test_too_few_open_files_are_told(tmp_path: Path) -> None:
    command = f"ulimit -n 1000; exec {sys.executable} -m deedbox doctor --json"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=server.environment(), capture_output=True, text=True, check=False
    )
    findings = {one["subject"]: one for one in json.loads(done.stdout)["findings"]}
    assert findings["open files"]["verdict"] == "note"
    assert "at most 1000" in findings["open files"]["text"]


def test_a_postgres_that_forgets_is_named(tmp_path: Path, postgres_url: str) -> None:
    env = {"DEEDBOX_DATABASE_URL": postgres_url}
    made = server.run("keys", "create", "--name", "first", data=tmp_path / "data", env=env)
    assert made.returncode == 0, made.stderr
    with psycopg.connect(postgres_url, autocommit=True) as database:
        name = database.info.dbname
        settled = {"fsync": "on", "full_page_writes": "on"}
        told = {one: database.execute(f"show {one}").fetchone() for one in settled}
        database.execute(f'alter database "{name}" set synchronous_commit = off')
    done = server.run("doctor", "--json", data=tmp_path / "data", env=env)
    said = [one["text"].split()[0] for one in json.loads(done.stdout)["findings"] if one["subject"] == "postgres"]
    assert said == [*(one for one in settled if told[one] == ("off",)), "synchronous_commit"]
    assert done.returncode == 1
