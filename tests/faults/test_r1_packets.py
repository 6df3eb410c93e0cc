"""R1 for packets: all complete together, whenever the server dies between the signatures and the completions."""

from pathlib import Path

from tests.faults import FULL
from tests.faults.packet_kill import DOCUMENTS, Scenario

STAGES = [0, 1, 2, DOCUMENTS] * 25 if FULL else [0, DOCUMENTS]
"""How many documents are complete when the server dies; with all of them, only the packet's certificate is missing."""


def test_a_packet_completes_whole_after_every_kill(tmp_path: Path) -> None:
    assert Scenario(tmp_path / "data").run(STAGES) == []


def test_a_packet_completes_whole_after_every_kill_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    assert Scenario(tmp_path / "data", database_url=postgres_url).run(STAGES if FULL else [1]) == []


def test_the_rig_catches_a_packet_whose_certificate_is_planned_after_the_commit(tmp_path: Path) -> None:
    found = Scenario(tmp_path / "data", bug="packet certified after the commit").run([DOCUMENTS])
    assert any(fault.startswith("stuck") for fault in found), found
