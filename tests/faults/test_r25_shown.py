"""R25: what is shown is what is sealed."""

import os
from pathlib import Path

import pytest

from tests.faults import shown

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]
FULL = os.environ.get("FAULTS") == "full"
SHOTS = os.environ.get("SCREENS")


def cases() -> list[tuple[str, str, int]]:
    """Language, way of signing, and by how many degrees the page is turned."""
    if FULL:
        return [
            (language, kind, turned)
            for language in shown.LANGUAGES
            for kind in shown.KINDS
            for turned in (0, 90, 180, 270)
        ]
    return [("en", "touch", 0), ("de", "mouse", 90), ("ar", "typed", 0), ("ja", "photo", 0)]


async def test_marks_look_the_same_on_the_page_and_in_the_sealed_file(database_url: str, tmp_path: Path) -> None:
    async with shown.scenario(database_url, tmp_path) as scenario:
        report = await scenario.run(cases(), keep=Path(SHOTS) if SHOTS else None)
    print(f"R25 shown: {report}", *report.faults, sep="\n")
    assert report.faults == []
    assert report.figures["pictures"] >= 4 * 6


async def test_the_rig_catches_a_minifier_that_drops_a_space(database_url: str, tmp_path: Path) -> None:
    async with shown.scenario(database_url, tmp_path) as scenario:
        report = await scenario.run([("en", "touch", 0)], planted=True)
    assert report.amiss("signature")
    assert any("pad and strokes" in fault for fault in report.faults)
