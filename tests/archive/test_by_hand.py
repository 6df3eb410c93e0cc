"""A package is checked without Deedbox, with the commands that the how-to names."""

import subprocess
from pathlib import Path

import pytest

from tests.archive.conftest import KEY, Archivist
from tests.docs.commands import ROOT

pytestmark = pytest.mark.anyio

PAGE = (ROOT / "docs" / "how-to" / "archive.md").read_text(encoding="utf-8")


def run(command: str, folder: Path) -> str:
    env = {"PATH": "/usr/bin:/bin", "SERVICE_ECOSYSTEM_KEY": KEY}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(start: str) -> str:
    """The command of the page that begins so."""
    return next(line for line in PAGE.splitlines() if line.strip().startswith(start)).split("  #")[0].strip()


async def test_the_commands_of_the_page_check_a_package(office: Archivist, tmp_path: Path) -> None:
    document = await office.archived()
    run(f"unzip -q {office.package(document)}", tmp_path)
    folder = tmp_path / document["id"]
    assert run(told("sha256sum"), folder).count(": OK") == 8
    found = run(f"{told('K=')}; {told('openssl dgst')}", folder)
    value = (folder / "authentication.txt").read_text().splitlines()[-1].removeprefix("Value: ")
    assert found.strip().endswith(value)
    reply = run("openssl ts -reply -token_in -in data/timestamp.tst -token_out -text", folder)
    assert "Hash Algorithm: sha256" in reply
