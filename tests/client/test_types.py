"""mypy --strict on users' programs, with nothing of Deedbox but the client."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import deedbox
from tests.docs.commands import ROOT

HERE = Path(__file__).parent
SOURCE = Path(deedbox.__file__).parent
CLIENT = ("__init__.py", "py.typed", "client", "kernel/__init__.py", "kernel/clock.py", "kernel/limits.py")
WRONG = """
from deedbox.client import Deedbox, LoneSigner, NewDocument

with Deedbox() as deedbox:
    new = NewDocument(title="Lease", signers=[LoneSigner(name="Ann")])
    document = deedbox.documents.create(new, ["lease.pdf"])
    print(document.state)
    list(deedbox.documents.list(status="done"))
"""


def test_mypy_accepts_a_program_and_finds_the_mistakes_of_another(tmp_path: Path) -> None:
    for name in CLIENT:
        target = tmp_path / "deedbox" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (SOURCE / name).is_dir() else shutil.copy)(SOURCE / name, target)
    shutil.copy(HERE / "program.py", tmp_path / "program.py")
    (tmp_path / "wrong.py").write_text(WRONG)
    cache = ROOT / ".mypy_cache" / "alone"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(cache)]
    done = subprocess.run(
        [*command, "program.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    found = re.findall(r"^(\S+?):(\d+): error: .*\[([\w-]+)\]", done.stdout, re.MULTILINE)
    assert found == [("wrong.py", "5", "call-arg"), ("wrong.py", "7", "attr-defined"), ("wrong.py", "8", "arg-type")], (
        done.stdout + done.stderr
    )
