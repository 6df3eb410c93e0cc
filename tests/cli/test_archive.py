"""`deedbox archive` as a person types it: what is archived, what is not, and whether it is whole."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deedbox.cli import archive
from deedbox.cli import limits as cli_limits
from deedbox.kernel import limits
from tests import server
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.archive.conftest import KEY, archiving
from tests.conftest import HandClock
from tests.kinds import kinds

pytestmark = pytest.mark.anyio

ENV = {"SERVICE_ECOSYSTEM_KEY": KEY}


def command(data: Path, *words: str, **env: str) -> tuple[int, Any]:
    """The exit code and what was printed as JSON."""
    done = server.run("archive", *words, "--json", data=data, env=env)
    assert KEY not in done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout or done.stderr.splitlines()[-1])


async def completed(data: Path, clock: HandClock, number: int) -> list[Any]:
    """Documents that were completed before there was a key."""
    async with opened(kinds.database_url(data), data, clock) as made:
        await made.settle()
        await made.deedbox.start()
        found = [await Office(made).sealed() for _ in range(number)]
        await made.deedbox.stop()
    return found


async def test_documents_completed_before_the_key_was_set_are_pushed_by_backfill(
    tmp_path: Path, clock: HandClock
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    documents = await completed(data, clock, 2)
    code, refused = command(data, "backfill")
    assert (code, refused["next_step"]) == (1, "Set it to the archive's key, here as for the server.")
    assert not (data / "archive").exists()
    code, shown = command(data, "status")
    assert (code, shown["archived"], shown["pending"], shown["failed"]) == (0, 0, 0, 0)
    assert command(data, "backfill", **ENV) == (0, {"planned": 2, "archived": 2, "failed": 0, "pending": 0})
    assert command(data, "backfill", **ENV) == (0, {"planned": 0, "archived": 2, "failed": 0, "pending": 0})
    packages = sorted((data / "archive").glob("wsp_*/*.zip"))
    assert [path.stem for path in packages] == sorted(document["id"] for document in documents)

    code, checked = command(data, "verify", **ENV)
    assert (code, checked["packages"], checked["problems"]) == (0, 2, [])
    wrong = {"SERVICE_ECOSYSTEM_KEY": f"{KEY[::-1]}x"}
    code, checked = command(data, "verify", **wrong)
    assert (code, checked["problems"], checked["other_key"]) == (3, [], 2)
    code, checked = command(data, "verify", packages[1].stem, **wrong)
    assert (code, checked["problems"], checked["other_key"]) == (3, [], 1)
    said = server.run("archive", "verify", data=data, env=wrong)
    assert "0 of 2 packages are whole and authentic" in said.stdout
    assert "SERVICE_ECOSYSTEM_KEY is not the key that authenticated 2 of the packages" in said.stderr
    content = bytearray(packages[0].read_bytes())
    content[len(content) // 2] ^= 1
    packages[0].write_bytes(content)
    code, checked = command(data, "verify", **ENV)
    assert (code, len(checked["problems"])) == (1, 1)
    assert checked["problems"][0]["name"] == f"{packages[0].parent.name}/{packages[0].name}"
    code, checked = command(data, "verify", packages[1].stem, **ENV)
    assert (code, checked["packages"], checked["problems"]) == (0, 1, [])
    code, checked = command(data, "verify", **wrong)  # damage is damage, whatever the key
    assert (code, len(checked["problems"]), checked["other_key"]) == (1, 1, 1)
    said = server.run("archive", "verify", data=data, env=ENV)
    assert "1 of 2 packages are whole and authentic" in said.stdout


async def test_what_failed_is_shown_with_its_reason_and_pushed_by_retry(tmp_path: Path, clock: HandClock) -> None:
    data, folder = tmp_path / "data", tmp_path / "mount"
    data.mkdir()
    folder.write_text("not mounted")
    (document,) = await completed(data, clock, 1)
    env = {**ENV, "DEEDBOX_ARCHIVE_URL": str(folder)}
    code, pushed = command(data, "backfill", **env)
    assert (code, pushed["failed"]) == (1, 1)
    code, shown = command(data, "status", **env)
    assert code == 0
    (failure,) = shown["failures"]
    assert (failure["document_id"], failure["attempts"]) == (document["id"], 1)
    assert "The archive's folder mount cannot be used" in failure["error"]
    folder.unlink()
    code, refused = command(data, "retry", "doc_unknown", **env)
    assert (code, "does not wait" in refused["error"]) == (1, True)
    assert command(data, "retry", document["id"], **env) == (
        0,
        {"planned": 1, "archived": 1, "failed": 0, "pending": 0},
    )
    assert len(list(folder.glob("wsp_*/*.zip"))) == 1
    shutil.rmtree(folder)
    code, checked = command(data, "verify", **env)
    assert (code, checked["problems"][0]["problem"].startswith("There is no")) == (1, True)
    # Nothing wrong was seen in an archive that was not looked at; that is no success.
    code, checked = command(data, "verify", **ENV, DEEDBOX_ARCHIVE_URL="https://archive.example.com/a")
    assert (code, checked["problems"], len(checked["unseen"])) == (3, [], 1)
    assert checked["unseen"][0]["unseen"].startswith(f"It lies at file:{checked['unseen'][0]['name']}, and not in")


async def test_without_a_server_a_long_push_is_waited_for_and_what_waits_is_no_success(
    tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_limits, "ARCHIVE_WAIT_SECONDS", 0)
    monkeypatch.setattr(limits, "PROGRESS_SECONDS", 0.01)
    async with archiving(kinds.database_url(tmp_path), tmp_path, clock) as office:
        slow = office.with_fault()
        slow.begun, slow.may_end = asyncio.Event(), asyncio.Event()
        await office.sealed()
        async with asyncio.timeout(60):
            await slow.begun.wait()
        beside_a_server = await archive._tried(office.api.deedbox, alone=False)
        assert beside_a_server.pending == 1
        alone = asyncio.create_task(archive._tried(office.api.deedbox, alone=True))
        await asyncio.sleep(0.2)
        assert not alone.done()
        slow.may_end.set()
        async with asyncio.timeout(60):
            assert (await alone).archived == 1
    archive._tell(archive.Pushed(1, 0, 0, 1), False, as_json=False)
    assert "the server goes on" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="1"):
        archive._tell(archive.Pushed(1, 0, 0, 1), True, as_json=False)
    said = capsys.readouterr()
    assert ("the server goes on" in said.out, "no server runs" in said.err) == (False, True)


def test_an_address_that_is_no_archive_is_refused_at_the_start(tmp_path: Path) -> None:
    for address, reason in (
        ("http://archive.example.com/", "would travel in clear"),
        ("https://user:secret@archive.example.com", "more than a host"),
        ("ftp://archive.example.com", "neither a folder"),
        ("s3://Bad_Bucket", "its bucket is not a name"),
        ("file://host/x", "file:///its/path"),
    ):
        failed = server.run("serve", "--port", "0", data=tmp_path / "data", env={"DEEDBOX_ARCHIVE_URL": address})
        assert (failed.returncode, reason in failed.stderr, "secret" in failed.stderr) == (1, True, False), address
    failed = server.run("serve", "--port", "0", data=tmp_path / "data", env={"SERVICE_ECOSYSTEM_KEY": "two words"})
    assert (failed.returncode, "two words" in failed.stderr) == (1, False)
