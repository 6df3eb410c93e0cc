"""The reference pages say what the code says, and nothing in the code is left out of them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from deedbox import cli
from deedbox.accounts.scopes import SCOPES, SHORTHANDS
from deedbox.kernel.errors import ErrorCode
from deedbox.kernel.settings import Settings, variable
from tests.docs.commands import PAGES, ROOT

REFERENCE = ROOT / "docs" / "reference"


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("settings.md", [variable(name) for name in Settings.__struct_fields__]),
        ("scopes.md", [*SCOPES, *SHORTHANDS]),
        ("errors.md", [str(code) for code in ErrorCode]),
        ("commands.md", [f"deedbox {name}" for name in cli.COMMANDS]),
    ],
)
def test_nothing_is_undocumented(page: str, words: list[str]) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []
