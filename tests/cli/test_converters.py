"""What `deedbox doctor` says of the programs that turn Word documents and HTML pages into PDF."""

from importlib.util import find_spec

import pytest

from deedbox.cli import doctor
from deedbox.kernel.sandbox import fence
from deedbox.kernel.settings import Settings
from deedbox.pdf import convert, office


def told(setting: str = "confined") -> dict[str, doctor.Finding]:
    found = doctor._converters(Settings(converters=setting))  # type: ignore[arg-type]
    return {finding.subject: finding for finding in found}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "check_installed", lambda source: None)  # noqa: ARG005


@pytest.fixture
def unfenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fence, "means", lambda: None)


def test_without_libreoffice_it_gives_the_command_that_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(office, "_PLACES", ())
    finding = told()["Word"]
    assert (finding.verdict, finding.text) == ("note", "Word files are refused: LibreOffice is not installed")
    assert "apt-get install libreoffice-writer-nogui" in finding.next_step


@pytest.mark.skipif(find_spec("weasyprint") is not None, reason="weasyprint is installed")
def test_without_weasyprint_it_gives_the_command_that_gets_it() -> None:
    finding = told()["HTML"]
    assert (finding.verdict, finding.text) == ("note", "HTML files are refused: WeasyPrint is not installed")
    assert "pip install weasyprint" in finding.next_step


@pytest.mark.usefixtures("installed", "unfenced")
def test_where_they_cannot_be_confined_they_are_off_and_that_is_said() -> None:
    for finding in told().values():
        assert finding.verdict == "note"
        assert "are refused although" in finding.text
        assert "DEEDBOX_CONVERTERS=unconfined" in finding.next_step


@pytest.mark.usefixtures("installed", "unfenced")
def test_unconfined_converters_are_a_problem_that_is_named() -> None:
    for finding in told("unconfined").values():
        assert finding.verdict == "bad"
        assert "runs unconfined" in finding.text


@pytest.mark.usefixtures("installed")
@pytest.mark.skipif(fence.means() is None, reason="this system cannot confine")
def test_where_they_are_confined_it_says_by_what() -> None:
    assert all(finding.verdict == "good" for finding in told().values())
    assert "confined by" in told()["Word"].text
