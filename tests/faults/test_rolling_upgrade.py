"""The version before and this one, beside each other on one PostgreSQL and one data folder, as while servers are
upgraded one after the other: both take documents in, sign them and find them, whichever of the two began."""

import asyncio
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import server
from tests.faults import installation
from tests.faults.installation import ROOT, Installation
from tests.faults.signers import Doors, at_turn, signature, wanted

BEFORE = "17e41f8cac97eb14d9b5134ca169aa758e27b20c"
"""The last commit whose servers each had the index of their folder to themselves. Once something is released: the
release before."""
_MODULE = "tests.faults.search_server"
_FORMER_MODULE = "tests.rigs.search_server"
"""The same module, as it was named then."""

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which Python runs the version before."""
    kept = subprocess.run(["git", "-C", str(ROOT), "archive", BEFORE, "src", "tests"], capture_output=True, check=False)
    if kept.returncode:
        pytest.skip(f"the commit {BEFORE} is not in this clone, so no upgrade was tried: git fetch --unshallow")
    folder = tmp_path_factory.mktemp("former")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=kept.stdout, check=True)
    # The version before minified its scripts with a package that this one does not install.
    (folder / "rjsmin.py").write_text("def jsmin(script):\n    return script\n", encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(folder / "src")]), "PYTHONSAFEPATH": "1"}


async def test_the_version_before_and_this_one_serve_beside_each_other(
    tmp_path: Path, postgres_url: str, former: dict[str, str]
) -> None:
    this = Installation(tmp_path / "data", database_url=postgres_url, module=_MODULE)
    key = this.key()
    old = server.start(this.data, module=_FORMER_MODULE, env=this.env | former, prepared=False)
    new = this.start()
    try:
        assert_runs_from(former)
        for number, (began, ended) in enumerate(product((old, new), repeat=2)):
            await found_by_both(began, (old, new), f"matter{number}x", key)
            await signed(began, ended, f"Deed {number}", key)
        assert old.stop() == 0, "the version before stops as it always did"
        await found_by_both(new, (new,), "afterwards", key)
        assert "Traceback" not in this.log()
    finally:
        installation.end(old)
        installation.end(new)


def assert_runs_from(former: dict[str, str]) -> None:
    """The test is about two versions, and not about one by two ways."""
    where = subprocess.run(
        [sys.executable, "-c", "import deedbox; print(deedbox.__file__)"],
        env=server.environment(**former), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert where.startswith(former["PYTHONPATH"].split(os.pathsep)[1])


async def found_by_both(began: server.Server, asked: tuple[server.Server, ...], word: str, key: str) -> None:
    """Taken in by the one, found by all at once; deleted, gone at once."""
    async with installation.client(began.address, key) as http:
        file = {"file": (f"{word}.txt", f"about {word}".encode())}
        doc_id = _checked(await http.post("/documents/upload", files=file))["doc_id"]
        _checked(await http.post("/documents/index", json={"doc_ids": [doc_id]}))
        # One that stays: a workspace in which nothing is indexed refuses questions.
        for there in (True, False):
            for one in asked:
                async with installation.client(one.address, key) as other:
                    question = {"query": word, "mode": "keyword"}
                    found = _checked(await other.post("/query", json=question))["results"]
                    assert [each["metadata"]["doc_id"] for each in found] == [doc_id] * there
            if there and word.endswith("0x"):
                return
            if there:
                assert (await http.delete(f"/documents/{doc_id}")).status_code == 204


async def signed(began: server.Server, ended: server.Server, title: str, key: str) -> None:
    """Sent by the one, signed at the other, sealed by whichever has the time."""
    async with Doors(began.address, key) as sending, Doors(ended.address, key) as signing:
        made = await sending.sender.post("/api/v1/documents", json=wanted(title, send=True))
        assert made.status_code == 201, made.text
        document_id = made.json()["id"]
        cookie = await signing.enter(document_id, at_turn(await sending.document(document_id))[0])
        done = await signing.act(cookie, "complete", signature("Ann"))
        assert done.status_code == 200, done.text
        async with asyncio.timeout(120):
            while (await sending.document(document_id))["status"] != "completed":
                await asyncio.sleep(0.05)
        for doors in (sending, signing):
            sealed = await doors.sender.get(f"/api/v1/documents/{document_id}/file")
            assert (sealed.status_code, sealed.content[:5]) == (200, b"%PDF-")


def _checked(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()
