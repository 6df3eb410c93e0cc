"""Converters on kernels that have less than this one: each scenario runs in a process to which the kernel denies it."""

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from deedbox.pdf.intake import libreoffice as office

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a filter that denies calls is Linux's")
needs_office = pytest.mark.skipif(office.program() is None, reason="LibreOffice is not installed")
needs_weasyprint = pytest.mark.skipif(find_spec("weasyprint") is None, reason="weasyprint is not installed")

SCENARIO = """
import asyncio, errno, json, sys
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.sandbox import confine, fence
from deedbox.pdf.pdf_sandbox import PdfSandbox
from tests.kernel.attacks import make_the_kernel_answer
from tests.pdf.papers import text_of
from tests.pdf.test_convert import Collected, docx

kernel, source, setting = sys.argv[1:]
confine._prctl(confine._PR_SET_NO_NEW_PRIVS, 1)
make_the_kernel_answer("landlock_create_ruleset", errno.ENOSYS)
if kernel != "namespaces":
    make_the_kernel_answer("unshare", errno.EPERM)
if kernel == "nothing":
    make_the_kernel_answer("seccomp", errno.ENOSYS)

async def converted():
    made, workshop = Collected(), PdfSandbox(1, unconfined_converters=setting == "unconfined")
    try:
        await workshop.check_converter(source)
        await workshop.convert(docx("An agreement") if source == "docx" else b"<p>An agreement", source, made.write)
    finally:
        await workshop.close()
    return {"text": text_of(bytes(made.data))}

try:
    said = asyncio.run(converted())
except ServiceError as error:
    said = {"refused": error.message}
print(json.dumps({"means": fence.means(), **said}))
"""


def scenario(kernel: str, source: str, setting: str = "confined", **environment: str) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", SCENARIO, kernel, source, setting]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize(
    "source", [pytest.param("docx", marks=needs_office), pytest.param("html", marks=needs_weasyprint)]
)
def test_without_landlock_a_converter_works_in_a_namespace(source: str) -> None:
    said = scenario("namespaces", source)
    if said["means"] is None:
        pytest.skip("this system has no user namespaces")
    assert said["means"] == "namespace"
    assert "An agreement" in said["text"]


PROBED_AGAIN = """
import errno, sys
import pytest
from deedbox.kernel.sandbox import confine, fence
from tests.kernel.attacks import make_the_kernel_answer

confine._prctl(confine._PR_SET_NO_NEW_PRIVS, 1)
make_the_kernel_answer("landlock_create_ruleset", errno.ENOSYS)
if fence.means() is None:
    sys.exit(77)
sys.exit(pytest.main(["-p", "no:randomly", "-k", "gets_at_nothing and (webpage or libreoffice)", sys.argv[1]]))
"""


def test_a_probe_in_a_namespace_gets_at_nothing_either() -> None:
    probes = Path(__file__).parent / "test_sandbox_kinds.py"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROBED_AGAIN, str(probes)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=300)
    if done.returncode == 77:
        pytest.skip("this system has no user namespaces")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].startswith("..")


@pytest.mark.parametrize("kernel", ["no fence", "nothing"])
@pytest.mark.parametrize(
    "source", [pytest.param("docx", marks=needs_office), pytest.param("html", marks=needs_weasyprint)]
)
def test_where_nothing_can_fence_it_a_converter_is_off_until_that_is_allowed(kernel: str, source: str) -> None:
    refused = scenario(kernel, source)
    assert refused["means"] is None
    assert "this system cannot confine" in refused["refused"]
    assert "DEEDBOX_CONVERTERS=unconfined" in refused["refused"]
    assert "An agreement" in scenario(kernel, source, "unconfined")["text"]


def test_what_an_unconfined_program_leaves_running_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "child"
    program = tmp_path / "soffice"
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {note}\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    path = os.pathsep.join((str(tmp_path), str(Path(str(shutil.which("sleep"))).parent)))
    assert "cannot be read" in scenario("nothing", "docx", "unconfined", PATH=path)["refused"]
    state = Path(f"/proc/{note.read_text().strip()}/stat")
    # Its end was ordered; on a busy machine it comes a little later.
    for _ in range(6000):
        if _has_ended(state):
            return
        time.sleep(0.01)
    pytest.fail("it still runs")


def _has_ended(state: Path) -> bool:
    try:
        return state.read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
