"""Every command in README and docs is run here, in order, as a reader would."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests import nursery
from tests.api.search.files import pdf
from tests.docs.commands import PAGES, ROOT, before_first_use, commands
from tests.s3 import Store
from tests.server import environment

# They run these tests or would run for minutes; that CI runs them is asserted instead.
NOT_RUN_HERE = {"make check", "make test", "make test DATABASE=postgres", "make faults FAULTS=small"}

IN_FOLDER = {
    "move.md": pytest.mark.all_in_folder("it says how to move away from a folder"),
    "run.md": pytest.mark.all_in_folder("doctor objects to a PostgreSQL like that of the tests"),
}
ACTIVATE = ". .venv/bin/activate"
FINDS_COMMAND = f"`{ACTIVATE}`"
"""What a page says at its top if no command of it does that."""
DATABASE = "postgresql://deedbox:password@db.example.com/deedbox"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Reader:
    """Someone who types what a page says, in an empty folder, and activates what `make serve` sets up."""

    set_up = False
    """Whether what `make serve` sets up before it serves is there; that it sets it up, the README's commands show."""

    def __init__(self, folder: Path, models_dir: Path) -> None:
        self.port = free_port()
        tools = Path(sys.executable).parent
        others = [one for one in os.environ["PATH"].split(":") if Path(one) != tools]
        self.activated = ":".join([str(tools), *others])
        self.env = environment(
            folder / "data",
            DEEDBOX_DATA_DIR=str(folder / "data"),
            DEEDBOX_MODELS_DIR=str(models_dir),
            DEEDBOX_PORT=str(self.port),
            PATH=":".join(others),
            KEY="",
        )
        self.folder = folder
        self.places = {"127.0.0.1:8080": f"127.0.0.1:{self.port}"}
        """What stands in the pages, and where it is here."""
        self.server: subprocess.Popen[str] | None = None

    def type(self, command: str) -> None:
        if command in ("make serve", "make demo"):
            self._serve(command)
        elif command == ACTIVATE:
            self.env["PATH"] = self.activated
        elif command.startswith("export KEY="):
            assert self.env["KEY"].startswith("deed_live_"), "the server printed no key"
        elif command not in NOT_RUN_HERE:
            self._run(command)

    def _serve(self, command: str) -> None:
        if self.set_up and command == "make serve":
            command = "deedbox serve"
        self.server = subprocess.Popen(
            command.split(),
            cwd=ROOT,
            env=self.env | {"PATH": self.activated},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.server.stdout is not None
        for line in self.server.stdout:
            if found := re.search(r"deed_live_[0-9a-f]{32}", line):
                self.env["KEY"] = found[0]
            if line.startswith("Stop it"):
                return
        raise AssertionError(f"{command} ended")

    def _run(self, command: str) -> None:
        here = re.sub(r"\bcurl\b", "curl --fail-with-body --silent --show-error", command)
        for written, place in self.places.items():
            here = here.replace(written, place)
        done = subprocess.run(
            ["sh", "-c", here], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def leave(self) -> None:
        if self.server is not None:
            os.killpg(self.server.pid, signal.SIGTERM)
            self.server.communicate(timeout=60)
            self.server = None


@pytest.fixture
def reader(tmp_path: Path, models_dir: Path) -> Iterator[Reader]:
    someone = Reader(tmp_path, models_dir)
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "lease.md").write_text(
        "# Lease\n\nEither party may terminate with three months' notice.\n"
    )
    for name in ("lease", "nda", "contract", "prices"):
        (tmp_path / f"{name}.pdf").write_bytes(pdf("Either party may terminate with notice.", size=(595, 842)))
    Image.new("RGB", (600, 200), "#c2410c").save(tmp_path / "logo.png")
    yield someone
    someone.leave()


@pytest.fixture(scope="module")
def loaded() -> Iterator[Path]:
    """A folder with a `deedbox` that need not load its modules; that the installed one does, the README's show."""
    with nursery.on_path() as folder:
        yield folder


@pytest.fixture
def elsewhere(reader: Reader, postgres_url: str, s3_store: Store) -> None:
    """For those who move: what they have, and a database, a bucket and a folder to move to."""
    reader.type("make serve")
    reader.leave()
    bucket = s3_store.bucket()
    reader.env |= s3_store.settings(bucket)
    del reader.env["DEEDBOX_BLOBS_URL"]
    reader.places |= {
        DATABASE: postgres_url,
        "s3://example-files/deedbox": str(bucket.place),
        "/srv/deedbox": str(reader.folder / "srv"),
    }


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.name, marks=IN_FOLDER.get(page.name, ())) for page in PAGES if commands(page)]
)
def test_every_command_of_a_page_works(
    page: Path, reader: Reader, loaded: Path, request: pytest.FixtureRequest
) -> None:
    reader.set_up = page.name != "README.md"
    if reader.set_up:
        reader.activated = f"{loaded}:{reader.activated}"
    if FINDS_COMMAND in page.read_text(encoding="utf-8"):
        reader.type(ACTIVATE)
    if any(DATABASE in command for command in commands(page)):
        request.getfixturevalue("elsewhere")
    for command in commands(page):
        reader.type(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_puts_deedbox_on_the_path_before_its_first_use(page: Path) -> None:
    before = before_first_use(page)
    assert before is None or ACTIVATE in before


def test_a_command_that_fails_is_noticed(reader: Reader) -> None:
    reader.type(ACTIVATE)
    with pytest.raises(AssertionError, match="deedbox frobnicate"):
        reader.type("deedbox frobnicate")


def test_ci_runs_what_a_contributor_runs() -> None:
    assert "make test" in commands(ROOT / "README.md")
    run = (ROOT / ".ci" / "run").read_text().splitlines()
    runs = [line.removeprefix("run ") for line in run if line.startswith("run make ")]
    assert runs == commands(ROOT / "CONTRIBUTING.md")
