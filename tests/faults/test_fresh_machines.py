"""The README's two commands on machines that have never seen them: each Debian, as an ordinary user and as root."""

from pathlib import Path

import httpx
import pytest

from tests.faults import only_in_full
from tests.faults.fresh_machine import USER, Announced, FreshMachine, missing

pytestmark = [only_in_full, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

SUITES = {"bookworm": "3.11", "trixie": "3.13", "forky": "3.14"}
"""Debian 12, 13 and the release after, with the Python of each."""
SELECTION = "tests/evidence"
"""Small: which tests pass on a Python is for `make test` to say, on that Python."""


def is_ready(announced: Announced) -> bool:
    """Whether the server answers, and lets the printed key in."""
    with httpx.Client(base_url=announced.address, trust_env=False) as client:
        me = client.get("/api/v1/me", headers={"Authorization": f"Bearer {announced.api_key}"})
        return client.get("/readyz").status_code == 200 and me.status_code == 200


@pytest.mark.parametrize("suite", SUITES)
def test_the_two_commands_do_everything_on_a_fresh_machine(tmp_path: Path, suite: str) -> None:
    machine = FreshMachine(tmp_path / suite, suite)
    machine.make("python3", "make")
    assert SUITES[suite] in machine.do("python3 --version")

    mine, roots = machine.clone(USER), machine.clone(0)
    told = machine.attempt("make serve", user=USER, folder=mine)
    assert told.returncode != 0
    assert "sudo apt-get install python3-venv" in told.stdout, told.stdout

    with machine.served(0, roots) as announced:  # it installs what is missing
        assert is_ready(announced)
    with machine.served(USER, mine) as announced:
        assert is_ready(announced)
    tested = machine.do(f"make test WORKERS=2 ARGS='{SELECTION}'", user=USER, folder=mine)
    print(f"{suite}: Python {SUITES[suite]}: {tested.splitlines()[-1]}")
