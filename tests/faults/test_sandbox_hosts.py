"""Fences and limits on hosts unlike this one: older kernels, containers, a root with fewer rights than root has."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import deedbox
from tests.faults.test_sandbox_kinds import system_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
CANNOT = 77


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody can get at, too."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def said(script: str, *words: str, python: str = sys.executable, path: list[str] = sys.path) -> str:
    """What the script printed in a process of its own; the test is skipped if this system cannot play that host."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [python, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    if done.returncode == CANNOT:
        pytest.skip("this system cannot play that host")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OLD_LANDLOCK = """
import os, sys
from deedbox.kernel.sandbox import Fence, confine, fence
from tests.kernel.probe import outcome

real = fence._landlock
if not fence._landlock_rights():
    sys.exit(77)
fence._landlock = lambda call, *args: int(sys.argv[1]) if args[0] is None else real(call, *args)
print(fence.means())
confine._prctl(confine._PR_SET_NO_NEW_PRIVS, 1)
try:
    fence.close(Fence(reads=("/usr",)))
except fence.NoFence:
    sys.exit(77)
print(outcome(lambda: os.open(sys.argv[2], 3 | os.O_TRUNC)))
"""


@pytest.mark.parametrize(
    ("version", "expected"), [("1", "namespace ENOENT"), ("2", "namespace ENOENT"), ("3", "landlock EACCES")]
)
def test_a_landlock_that_lets_files_be_emptied_is_not_relied_on(version: str, expected: str, tmp_path: Path) -> None:
    """The kernel's answer to which version it has is the test's; what that version withholds is the kernel's."""
    key = tmp_path / "master.key"
    key.write_text("secret")
    assert said(OLD_LANDLOCK, version, str(key)).split() == expected.split()
    assert key.read_text() == "secret"


WITH_LESS = """
import os, sys
from deedbox.kernel.sandbox import Fence, confine, fence
from tests.kernel.probe import outcome

confine.drop_capabilities() if sys.argv[1] == "no capabilities" else fence._unshare()
folder, *writes = sys.argv[2:]
confine.begin(Fence(reads=("/usr",), writes=tuple(writes)), threads=4)
print(os.getuid(), outcome(lambda: open(folder + "/new", "w")), outcome(lambda: os.listdir("/")))
"""


@as_root
@pytest.mark.parametrize("host", ["no capabilities", "a namespace of its own"])
def test_a_root_that_cannot_become_nobody_is_fenced_as_it_is(host: str, folder: Path) -> None:
    assert said(WITH_LESS, host, str(folder)) == "0 EACCES EACCES"
    assert said(WITH_LESS, host, str(folder), str(folder)) == "0 done EACCES"


BECOME_NOBODY = """
import os, sys
from deedbox.kernel.sandbox import Fence, confine
confine._become_nobody(Fence(reads=tuple(sys.argv[2:]), writes=(sys.argv[1],)))
print(os.getuid())
"""


@as_root
@pytest.mark.parametrize("closed", ["program", "program/inside"])
def test_root_stays_root_where_nobody_could_not_get_at_a_place(closed: str, folder: Path) -> None:
    (folder / "work").mkdir()
    (folder / "program" / "inside").mkdir(parents=True)
    program = str(folder / "program" / "inside")
    assert said(BECOME_NOBODY, str(folder / "work"), program) == "65534"
    (folder / closed).chmod(0o700)
    assert said(BECOME_NOBODY, str(folder / "work"), program) == "0"


@as_root
def test_what_a_link_in_a_folder_points_at_keeps_its_owner(folder: Path) -> None:
    (folder / "master.key").write_text("secret")
    (folder / "work").mkdir()
    (folder / "work" / "link").symlink_to(folder / "master.key")
    assert said(BECOME_NOBODY, str(folder / "work")) == "65534"
    assert (folder / "master.key").stat().st_uid == 0
    assert (folder / "work" / "link").lstat().st_uid == 65534


HIDDEN_THREADS = """
import os, sys, threading
from deedbox.kernel.sandbox import Fence, confine, fence
from tests.kernel import probe

USER, NEW_PIDS = 54321, 0x20000000

def become(user):
    os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)

ready, tell = os.pipe()
if (other := os.fork()) == 0:
    become(USER)
    for _ in range(40):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    os.write(tell, b"x")
    threading.Event().wait()
os.read(ready, 1)
try:
    fence._check("unshare", fence._libc().unshare(fence._NEW_MOUNTS | NEW_PIDS))
except OSError:
    os.kill(other, 9)
    sys.exit(77)
if (inside := os.fork()) == 0:
    fence._mount(None, "/", None, fence._RECURSIVE | fence._PRIVATE)
    fence._mount("proc", "/proc", "proc", 0)
    become(USER)
    confine.begin(Fence(), threads=8)
    print(probe.threads(200), flush=True)
    os._exit(0)
ended = os.waitpid(inside, 0)[1]
os.kill(other, 9)
sys.exit(1 if ended else 0)
"""


@as_root
def test_threads_of_the_same_user_outside_a_container_take_none_of_a_converters() -> None:
    """The kernel counts them although the container does not see them."""
    assert 8 <= int(said(HIDDEN_THREADS)) < 100


IN_A_CONTAINER = """
import asyncio, contextlib, os, sys
from deedbox.kernel.sandbox import Fence, SandboxFailed, SandboxKind, confine
from deedbox.kernel.sandbox.pool import Sandbox

DROP_FROM_BOUNDS, SYS_RESOURCE = 24, 24
script, calls, *reads = sys.argv[1:]
if script:
    with contextlib.suppress(OSError):  # a container that lacks the right already
        confine._prctl(DROP_FROM_BOUNDS, SYS_RESOURCE)
    os.execv(sys.executable, [sys.executable, "-c", script, "", calls, *reads])

async def main():
    limits = {"calls": int(calls), "open_files": 8, "threads": 4, "cpu_seconds": 1, "seconds": 60}
    kind = SandboxKind(name="test", preload=("tests.kernel.probe",), fence=Fence(reads=tuple(reads)), **limits)
    sandbox = Sandbox(kind, packages=("tests.kernel.",))
    try:
        print(await sandbox.call("tests.kernel.probe:who"))
        await sandbox.call("tests.kernel.probe:ignore_the_limit_of_computing")
    except SandboxFailed as failed:
        print(failed.reason)
    finally:
        await sandbox.close()

asyncio.run(main())
"""


@as_root
@pytest.mark.parametrize("calls", ["1", "2"])
def test_the_limit_of_computing_holds_where_root_may_not_set_it_for_nobody(calls: str) -> None:
    """As in an ordinary container, whose root lacks CAP_SYS_RESOURCE."""
    packages = [
        str(Path(__file__).parents[2]),
        str(Path(deedbox.__file__).parents[1]),
        sysconfig.get_paths()["purelib"],
    ]
    python = system_python()
    try:
        answer = said(IN_A_CONTAINER, IN_A_CONTAINER, calls, "/usr", "/lib", *packages, python=python, path=packages)
    except AssertionError as error:
        if "ModuleNotFoundError" in str(error):
            pytest.skip("the system's Python is not of this version")
        raise
    user, _, reason = answer.partition("\n")
    if user == "0":
        pytest.skip("nobody cannot get at the packages of this installation")
    assert (user, reason) == ("65534", "memory")
