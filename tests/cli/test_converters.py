"""What `deedbox doctor` says of the programs that turn Word documents and HTML pages into PDF."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from deedbox.kernel.sandbox import fence
from deedbox.pdf.intake import libreoffice as office

LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="a filter that denies calls is Linux's")
needs_office = pytest.mark.skipif(office.program() is None, reason="LibreOffice is not installed")
needs_weasyprint = pytest.mark.skipif(find_spec("weasyprint") is None, reason="weasyprint is not installed")
both = pytest.mark.parametrize(
    "subject", [pytest.param("Word", marks=needs_office), pytest.param("HTML", marks=needs_weasyprint)]
)

UNFENCED = """
import errno
from deedbox.kernel.sandbox import confine
from tests.kernel.attacks import make_the_kernel_answer

confine._prctl(confine._PR_SET_NO_NEW_PRIVS, 1)
make_the_kernel_answer("landlock_create_ruleset", errno.ENOSYS)
make_the_kernel_answer("unshare", errno.EPERM)
"""
DOCTOR = """
import sys
from deedbox.cli import main
sys.argv = ["deedbox", "doctor", "--json"]
main()
"""


def told(*, before: str = "", **environment: str) -> dict[str, dict[str, Any]]:
    """The doctor's findings by their subject, in a folder without an installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DEEDBOX_")}
    env = {**kept, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", before + DOCTOR]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    return {finding["subject"]: finding for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.skipif(bool(office._PLACES) and os.path.exists(office._PLACES[-1]), reason="LibreOffice is installed")
def test_without_libreoffice_it_gives_the_command_that_gets_it() -> None:
    finding = told()["Word"]
    assert (finding["verdict"], finding["text"]) == ("note", "Word files are refused: LibreOffice is not installed")
    assert "apt-get install libreoffice-writer-nogui" in finding["next_step"]


@pytest.mark.skipif(find_spec("weasyprint") is not None, reason="weasyprint is installed")
def test_without_weasyprint_it_gives_the_command_that_gets_it() -> None:
    finding = told()["HTML"]
    assert (finding["verdict"], finding["text"]) == ("note", "HTML files are refused: WeasyPrint is not installed")
    assert "pip install weasyprint" in finding["next_step"]


@both
@LINUX_ONLY
def test_where_it_cannot_be_confined_a_converter_is_off_and_that_is_said(subject: str) -> None:
    finding = told(before=UNFENCED)[subject]
    assert finding["verdict"] == "note"
    assert "are refused although" in finding["text"]
    assert "DEEDBOX_CONVERTERS=unconfined" in finding["next_step"]


@both
@LINUX_ONLY
def test_an_unconfined_converter_is_a_problem_that_is_named(subject: str) -> None:
    finding = told(before=UNFENCED, DEEDBOX_CONVERTERS="unconfined")[subject]
    assert finding["verdict"] == "bad"
    assert "runs unconfined" in finding["text"]


@both
@pytest.mark.skipif(fence.means() is None, reason="this system cannot confine")
def test_where_it_is_confined_the_doctor_says_by_what(subject: str) -> None:
    finding = told()[subject]
    assert finding["verdict"] == "good"
    assert "confined by" in finding["text"]
