"""A probe inside every kind of sandbox that the product has, converters included: it gets at nothing."""

import ast
import json
import resource
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

import deedbox
from deedbox.cli import doctor, verify
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.sandbox import Fence, SandboxFailed, SandboxKind, fence
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.pdf import limits, pdf_sandbox
from deedbox.pdf.intake import libreoffice as office
from deedbox.pdf.intake.libreoffice_child import ConversionRequest
from deedbox.search import limits as search_limits
from deedbox.search.embed import local
from deedbox.search.embed.models import current
from deedbox.search.embed.remote import RemoteEmbedder
from deedbox.search.endpoint import ModelEndpoint
from deedbox.search.extract import Extractor
from deedbox.search.ocr import model as ocr_model
from deedbox.search.ocr import page_reader
from tests.faults import FULL
from tests.kernel import probe
from tests.models import MODELS

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines")]
PROBE = "tests.kernel.probe"
TESTS = str(Path(__file__).parents[1])
OTHERS = 64
"""So many threads of other tests' sandboxes may end meanwhile, and leave their places: the kernel counts by user."""


def all_kinds() -> dict[str, SandboxKind]:
    """Every kind by its name, as the product opens it."""
    remote = RemoteEmbedder(
        cast(Any, None), ModelEndpoint("https://example.com/v1", "m", None), MODELS, size=200, overlap=40
    )
    found = [
        *pdf_sandbox.kinds(1),
        Extractor(1)._sandbox.kind,
        remote._sandbox.kind,
        verify.kind(verify.MODULE),
        doctor.KIND,
    ]
    if (model := current(MODELS)) is not None:
        found.append(local._kind("embed", MODELS, model, nice=0, seconds=search_limits.EMBED_SECONDS))
    if ocr_model.is_present(MODELS):
        found.append(page_reader.kind(MODELS))
    return {kind.name: kind for kind in found}


KINDS = all_kinds()


def probed(kind: SandboxKind, **differences: Any) -> Sandbox:
    """The kind as it is, with the probe beside what it loads, and beside what it may read."""
    fences = msgspec.structs.replace(kind.fence, reads=(*kind.fence.reads, TESTS))
    differences = {"preload": (*kind.preload, PROBE), "fence": fences, **differences}
    return Sandbox(msgspec.structs.replace(kind, **differences), packages=("deedbox.", "tests.kernel."))


OUTSIDE = """
import json, resource, sys
from tests.kernel import probe
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(json.dumps(probe.probe(sys.argv[1], int(sys.argv[2]))))
"""


class Surroundings(msgspec.Struct):
    folder: Path
    port: int


@pytest.fixture
def around() -> Iterator[Surroundings]:
    """A data folder as the server has it, with a socket in it, and a port that takes connections."""
    with tempfile.TemporaryDirectory() as folder:  # by a short name, as sockets need it
        yield from _data_folder(Path(folder))


def _data_folder(data: Path) -> Iterator[Surroundings]:
    (data / "master.key").write_text("secret")
    (data / "deedbox.sqlite").write_text("rows")
    (data / "program").write_bytes(b"\x00")
    (data / "program").chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as port, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(data / "socket"))
        local.listen()
        yield Surroundings(data, port.getsockname()[1])


def open_ways(found: dict[str, str]) -> dict[str, str]:
    return {attempt: result for attempt, result in found.items() if result == "done"}


@pytest.mark.parametrize("name", sorted(KINDS))
async def test_a_probe_in_a_sandbox_gets_at_nothing(name: str, around: Surroundings) -> None:
    sandbox = probed(KINDS[name])
    try:
        found = await sandbox.call(f"{PROBE}:probe", str(around.folder), around.port)
    finally:
        await sandbox.close()
    assert len(found) == 15
    assert open_ways(found) == {}
    assert (around.folder / "master.key").stat().st_mode & 0o077 == 0o044
    assert (around.folder / "master.key").read_text() == "secret"


def test_outside_a_sandbox_the_same_probe_gets_at_everything(around: Surroundings) -> None:
    """The seeded bug: an attempt that fails here as well would prove nothing above."""
    command = [sys.executable, "-c", OUTSIDE, str(around.folder), str(around.port)]
    done = subprocess.run(command, capture_output=True, check=True, cwd=Path(TESTS).parent)
    found = json.loads(done.stdout)
    assert set(found) - set(open_ways(found)) == set()


@pytest.mark.parametrize("name", sorted(KINDS) if FULL else ["prepare", "webpage"])
async def test_no_kind_outlives_its_limit_of_computing(name: str) -> None:
    sandbox = probed(KINDS[name], cpu_seconds=1, seconds=120)
    try:
        with pytest.raises(SandboxFailed) as failed:
            await sandbox.call(f"{PROBE}:ignore_the_limit_of_computing")
    finally:
        await sandbox.close()
    # One that may start threads can hide from the signal, and is killed a second later.
    assert failed.value.reason == ("memory" if KINDS[name].threads else "cpu")


@pytest.mark.parametrize("name", sorted(KINDS))
async def test_no_kind_starts_more_threads_than_it_may(name: str) -> None:
    sandbox = probed(KINDS[name], calls=2)
    try:
        user = await sandbox.call(f"{PROBE}:who")
        if KINDS[name].threads and user == 0:
            pytest.skip("the kernel does not count the threads of a root whom others cannot stand in for")
        started = await sandbox.call(f"{PROBE}:threads", limits.CONVERT_THREADS + 200)
    finally:
        await sandbox.close()
    assert started <= KINDS[name].threads + (OTHERS if KINDS[name].threads else 0)


def test_no_kind_is_left_out() -> None:
    """Each place in the source that makes a kind gives it a name that is probed above."""
    named = set()
    for path in Path(str(deedbox.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "SandboxKind":
                value = next(word.value for word in node.keywords if word.arg == "name")
                named.add(value.value if isinstance(value, ast.Constant) else path.stem)
    named.discard("local")  # the embedder, whose names are given elsewhere: it is probed where a model is installed
    assert named <= set(KINDS)


def system_python() -> str:
    """A Python that anybody may run: root becomes nobody where it can."""
    return shutil.which("python3", path="/usr/bin") or sys.executable


class Converter:
    """LibreOffice's child with the probe in its place: the same fence, and beside it only what Python needs."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._python = system_python()

    async def answers(self, monkeypatch: pytest.MonkeyPatch, wanted: str) -> dict[str, Any]:
        monkeypatch.setattr(office, "_order", self._order(office._order, wanted))
        monkeypatch.setattr(office, "program", lambda **_: Path("/usr/lib/libreoffice/program/soffice.bin"))
        said = bytearray()

        async def write(piece: bytes) -> None:
            said.extend(piece)

        await office.as_pdf(b"", write)
        return cast(dict[str, Any], json.loads(bytes(said)))

    def _order(self, real: Any, wanted: str) -> Any:
        def order(soffice: Path, folder: Path, *, unconfined: bool) -> ConversionRequest:
            made: ConversionRequest = real(soffice, folder, unconfined=unconfined)
            script = Path(shutil.copy(str(probe.__file__), folder))
            where = (str(folder / "document.pdf"), str(self._around.folder), str(self._around.port), wanted)
            stdlib = sysconfig.get_paths()["stdlib"] if self._python == sys.executable else "/usr/lib"
            fences = Fence(
                reads=(*made.fence.reads, stdlib), writes=made.fence.writes, runs=(*made.fence.runs, self._python)
            )
            program = (self._python, "-I", "-S", str(script), *where)
            return msgspec.structs.replace(made, program=program, fence=fences)

        return order


async def test_a_probe_in_the_place_of_libreoffice_gets_at_nothing(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard - 1), hard))  # else nothing could be raised anyway
    found = await Converter(around).answers(monkeypatch, str(limits.CONVERT_THREADS + 200))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    started, user = int(found.pop("threads")), int(found.pop("user"))
    assert len(found) == 15
    assert open_ways(found) == {}
    assert user == 0 or 0 < started <= limits.CONVERT_THREADS + OTHERS


async def test_a_program_in_the_place_of_libreoffice_cannot_outlive_its_limit_of_computing(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONVERT_SECONDS", 30)
    real = office._order

    def short(soffice: Path, folder: Path, *, unconfined: bool) -> ConversionRequest:
        return msgspec.structs.replace(real(soffice, folder, unconfined=unconfined), seconds=1)

    monkeypatch.setattr(office, "_order", short)
    with pytest.raises(BadRequest, match="cannot be read"):
        await Converter(around).answers(monkeypatch, "compute")


def test_this_machine_can_fence() -> None:
    assert fence.means() in ("landlock", "namespace")
