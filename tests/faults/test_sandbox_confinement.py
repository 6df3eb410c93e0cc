"""What a child that was taken over can still do: real attacks in a real child, with the filter and without it."""

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.errors import Unavailable
from deedbox.kernel.limits import MB
from deedbox.kernel.sandbox import Fence, SandboxCall, SandboxFailed, SandboxKind, pool, seccomp
from deedbox.kernel.sandbox.allowed import CALLS, Work, looks
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.kernel.sandbox.syscalls import NUMBERS
from deedbox.pdf.intake import convert
from tests.server import Server, start

LINUX = sys.platform == "linux"
pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not LINUX, reason="only Linux filters system calls")]

ATTACKS = "tests.kernel.attacks"
OTHERS = "tests.kernel.sandboxed"
WITHOUT_FILTER = (SandboxCall(f"{ATTACKS}:switch_off_the_filter"),)
PYTHON = (*convert.webpage_fence().reads, str(Path(__file__).parents[1]))
"""What a child reads to load the modules of a test."""
PROGRAMS = ("/bin", "/lib", "/lib64", "/usr/lib")

ON_ITS_OWN = [
    *("fork", "fork_by_clone", "fork_by_clone3", "fork_and_leave_the_session", "spawn", "execute"),
    *("open_a_socket", "open_a_socket_pair", "be_traced", "read_own_memory", "share_memory", "outlive_the_server"),
]
ON_THE_SERVER = ["signal_zero", "signal_harmlessly", "signal_a_thread", "have_signals_sent", "touch_the_limits"]
ON_A_FILE = ["create_file", "empty_file", "make_folder", "rename_file", "remove_file"]
# The kernel may refuse these for reasons of its own (capabilities, Yama, a session leader), so they prove less.
REFUSED_ANYWAY = ["trace", "read_memory"]


def opened(**differences: Any) -> Sandbox:
    settings: dict[str, Any] = {"memory_bytes": 512 * MB, "seconds": 20, "cpu_seconds": 10, "open_files": 8}
    settings["fence"] = Fence(reads=(*PYTHON, "/etc/passwd"))
    kind = SandboxKind(name="test", preload=(ATTACKS, OTHERS), **{**settings, **differences})
    return Sandbox(kind, packages=("tests.kernel.",))


async def results(sandbox: Sandbox, folder: Path) -> dict[str, str]:
    """What came of each attack, each on a fresh file; the child must have survived them all."""
    survivor = await sandbox.call(f"{OTHERS}:pid")
    found = {name: await sandbox.call(f"{ATTACKS}:{name}") for name in ON_ITS_OWN}
    found |= {name: await sandbox.call(f"{ATTACKS}:{name}", os.getpid()) for name in ON_THE_SERVER}
    for name in ON_A_FILE:
        victim = folder / name
        victim.write_text("precious")
        found[name] = await sandbox.call(f"{ATTACKS}:{name}", str(victim))
    assert await sandbox.call(f"{OTHERS}:pid") == survivor
    return found


@pytest.mark.parametrize("open_files", [0, 8])
async def test_every_attack_is_refused_and_the_child_works_on(open_files: int, tmp_path: Path) -> None:
    sandbox = opened(open_files=open_files)
    found = await results(sandbox, tmp_path)
    await sandbox.close()
    assert found.pop("fork_by_clone3") == "ENOSYS"
    assert {name: outcome for name, outcome in found.items() if outcome != "EPERM"} == {}
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == dict.fromkeys(ON_A_FILE, "precious")


async def test_without_the_filter_the_same_attacks_succeed(tmp_path: Path) -> None:
    """The seeded bug: an attack that fails here as well would prove nothing above."""
    inside = Fence(reads=PYTHON, writes=(str(tmp_path),), runs=PROGRAMS)
    sandbox = opened(setup=WITHOUT_FILTER, fence=inside, threads=64)
    found = await results(sandbox, tmp_path)
    await sandbox.close()
    assert {name: outcome for name, outcome in found.items() if outcome != "done"} == {}
    assert not (tmp_path / "remove_file").exists()


async def test_the_servers_memory_cannot_be_read_nor_the_session_left() -> None:
    sandbox = opened()
    for name in REFUSED_ANYWAY:
        assert await sandbox.call(f"{ATTACKS}:{name}", os.getpid()) == "EPERM"
    assert await sandbox.call(f"{ATTACKS}:leave_the_session") == "EPERM"
    await sandbox.close()


async def test_a_child_without_files_can_open_none_and_one_with_files_can_read_them() -> None:
    none, some = opened(open_files=0), opened(open_files=1)
    assert await none.call(f"{ATTACKS}:read_file", "/etc/passwd") == "EPERM"
    assert await some.call(f"{ATTACKS}:read_file", "/etc/passwd") == "done"
    await asyncio.gather(none.close(), some.close())


async def test_one_child_cannot_read_the_memory_of_another() -> None:
    """Also through /proc, where a child that may open files would see what another one works on."""
    victim, attacker = opened(), opened(fence=Fence(reads=(*PYTHON, "/proc")))
    pid = await victim.call(f"{OTHERS}:pid")
    assert await attacker.call(f"{ATTACKS}:read_file", f"/proc/{pid}/mem") in ("EPERM", "EACCES")
    await asyncio.gather(victim.close(), attacker.close())


@pytest.mark.parametrize(("setup", "outcome"), [((), "EPERM"), (WITHOUT_FILTER, "done")])
async def test_the_filter_closes_on_threads_that_a_module_started_before(
    setup: tuple[SandboxCall, ...], outcome: str
) -> None:
    sandbox = opened(threads=2, setup=(SandboxCall(f"{ATTACKS}:leave_a_thread_running"), *setup))
    assert await sandbox.call(f"{ATTACKS}:fork_in_the_old_thread") == outcome
    await sandbox.close()


async def test_ordinary_work_goes_on_under_the_filter() -> None:
    sandbox = opened(open_files=0)
    assert await sandbox.call(f"{ATTACKS}:compute") == 333328333350000
    assert await sandbox.call(f"{ATTACKS}:allocate", 200 * MB) == 200
    assert await sandbox.call(f"{ATTACKS}:call_back") == 144
    await sandbox.close()


async def test_a_thread_is_started_only_by_a_child_that_reads_files() -> None:
    computing, reading = opened(open_files=0), opened(threads=8)
    assert await computing.call(f"{ATTACKS}:start_a_thread") == "can't start new thread"
    assert await reading.call(f"{ATTACKS}:start_a_thread") == "from a thread"
    await asyncio.gather(computing.close(), reading.close())


@pytest.mark.parametrize(
    ("function", "reason"), [("eat_memory", "memory"), ("abort", "crashed"), ("segfault", "crashed"), ("spin", "cpu")]
)
async def test_under_the_filter_every_limit_is_still_told_by_its_name(function: str, reason: str) -> None:
    sandbox = opened(cpu_seconds=1)
    with pytest.raises(SandboxFailed) as failed:
        await sandbox.call(f"{OTHERS}:{function}")
    assert failed.value.reason == reason
    assert await sandbox.call(f"{OTHERS}:echo", "next") == ["next"]
    await sandbox.close()


async def test_under_the_filter_the_deadline_still_ends_a_child() -> None:
    sandbox = opened(seconds=0.5)
    before = await sandbox.call(f"{OTHERS}:pid")
    with pytest.raises(SandboxFailed) as failed:
        await sandbox.call(f"{OTHERS}:nap", 60)
    assert failed.value.reason == "deadline"
    assert await sandbox.call(f"{OTHERS}:pid") != before
    await sandbox.close()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only this machine has other doors into its kernel")
@pytest.mark.parametrize("door", ["call_by_the_old_door", "call_by_x32"])
async def test_a_call_by_another_door_kills_the_child(door: str) -> None:
    sandbox = opened()
    with pytest.raises(SandboxFailed) as failed:
        await sandbox.call(f"{ATTACKS}:{door}")
    assert failed.value.reason == "crashed"
    assert await sandbox.call(f"{OTHERS}:echo", "next") == ["next"]
    await sandbox.close()


@pytest.mark.parametrize(
    ("call", "number"),
    [("seccomp", errno.EPERM), ("seccomp", errno.ENOMEM), ("prctl", errno.EINVAL)],
)
async def test_a_child_that_cannot_be_confined_refuses_to_work(
    call: str, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox = opened(setup=(SandboxCall(f"{ATTACKS}:make_the_kernel_answer", (call, number)),))
    with pytest.raises(Unavailable, match="its log says why"):
        await sandbox.call(f"{OTHERS}:echo", 1)
    await sandbox.close()
    assert "sandbox test could not start: " in caplog.text
    assert f"[Errno {number}] {call}: {os.strerror(number)}" in caplog.text


REFUSING_KERNEL = f"""
import asyncio, logging, sys
from deedbox.kernel.sandbox import SandboxKind, confine
from deedbox.kernel.sandbox.pool import Sandbox
from {ATTACKS} import make_the_kernel_answer

logging.basicConfig(stream=sys.stdout)
confine._prctl(confine._PR_SET_NO_NEW_PRIVS, 1)
make_the_kernel_answer(sys.argv[1], {errno.EPERM})

async def main():
    await Sandbox(SandboxKind(name="test", preload=()), packages=("tests.",)).warm()

asyncio.run(main())
"""


@pytest.mark.parametrize("call", ["prctl", "capset"])
def test_a_child_that_keeps_its_privileges_refuses_to_load_anything(call: str) -> None:
    """The server runs under a filter of the test's, and its child inherits that."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", REFUSING_KERNEL, call]
    server = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert f"sandbox test could not start: PermissionError: [Errno 1] {call}: Operation not permitted" in server.stdout
    assert "Unavailable" in server.stderr


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
async def test_a_kernel_without_filters_is_warned_of_once_and_used(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    pool._warn_unfiltered.cache_clear()
    for _ in range(2):
        sandbox = opened(setup=(SandboxCall(f"{ATTACKS}:make_the_kernel_answer", ("seccomp", number)),))
        assert await sandbox.call(f"{OTHERS}:echo", 1) == [1]
        await sandbox.close()
    assert caplog.text.count("sandbox without seccomp: the kernel has none") == 1


async def test_a_filtered_child_is_no_cause_for_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    pool._warn_unfiltered.cache_clear()
    sandbox = opened()
    await sandbox.warm()
    await sandbox.close()
    assert "seccomp" not in caplog.text


def verdict(steps: list[seccomp.Instruction], machine: str, number: int, *args: int, audit: int = 0) -> int:
    """What the filter says to a system call, as the kernel would run it."""
    words = {0: number, 4: audit or seccomp.AUDIT_ARCHITECTURES[machine]}
    words |= {16 + 8 * place: (args[place : place + 1] or (0,))[0] & 0xFFFFFFFF for place in range(6)}
    held, at = 0, 0
    while True:
        code, if_true, if_false, constant = steps[at]
        at += 1
        if code == seccomp.RETURN:
            return constant
        if code == seccomp.LOAD:
            held = words[constant]
        else:
            tests = {seccomp.EQUAL: held == constant, seccomp.AT_LEAST: held >= constant}
            at += if_true if tests.get(code, bool(held & constant)) else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


WORKS: tuple[Work, ...] = ("compute", "read", "convert")
DANGEROUS = {
    "x86_64": {"connect": 42, "fork": 57, "vfork": 58, "ptrace": 101, "mount": 165, "unshare": 272, "setns": 308,
               "symlink": 88, "link": 86, "chmod": 90, "chown": 92, "sendto": 44, "sendmsg": 46, "setrlimit": 160,
               "bpf": 321, "keyctl": 250, "memfd_create": 319, "truncate": 76, "mknod": 133, "process_vm_readv": 310},
    "aarch64": {"connect": 203, "ptrace": 117, "mount": 40, "unshare": 97, "setns": 268, "symlinkat": 36, "linkat": 37,
                "fchmodat": 53, "fchownat": 54, "sendto": 206, "sendmsg": 211, "setrlimit": 164, "bpf": 280,
                "keyctl": 219, "memfd_create": 279, "truncate": 45, "mknodat": 33, "process_vm_readv": 270},
}  # fmt: skip


@pytest.mark.parametrize("work", WORKS)
def test_only_what_is_named_is_allowed(machine: str, work: Work) -> None:
    steps = seccomp.program(machine, 77, work)
    judged = {name for look in looks(work, 77) for name in look.calls}
    known = {number: name for name, number in NUMBERS[machine].items()}
    for number in range(600):
        name = known.get(number, "")
        if name in judged:
            continue
        closed = seccomp.ABSENT if number >= 424 else seccomp.REFUSE
        assert verdict(steps, machine, number) == (seccomp.ALLOW if name in CALLS[work] else closed), (number, name)
    for name, number in DANGEROUS[machine].items():
        assert verdict(steps, machine, number) == seccomp.REFUSE, name


def test_no_name_in_the_filter_is_misspelt() -> None:
    """A name that is in no table would be left out of the filter without a word."""
    looked_at = {name for work in WORKS for look in looks(work, 77) for name in look.calls}
    assert {*looked_at, *(name for work in WORKS for name in CALLS[work])} <= set(NUMBERS["x86_64"])
    assert set(NUMBERS["aarch64"]) <= set(NUMBERS["x86_64"])
    assert all(len(set(numbers.values())) == len(numbers) for numbers in NUMBERS.values())


def test_a_filter_is_no_longer_than_the_kernel_takes(machine: str) -> None:
    assert all(len(seccomp.program(machine, 77, work)) < 4096 for work in WORKS)


def test_arguments_decide_alike_on_both_machines(machine: str) -> None:
    numbers, refuse, allow = NUMBERS[machine], seccomp.REFUSE, seccomp.ALLOW
    expected: dict[Work, list[tuple[str, tuple[int, ...], int]]] = {
        "compute": [
            ("tgkill", (77, 78, 6), allow),
            ("tgkill", (1, 1, 6), refuse),
            ("kill", (77, 9), refuse),
            ("clone", (0x3D0F00,), refuse),
            ("prlimit64", (0, 0), refuse),
            ("openat", (-100, 0, os.O_RDONLY), refuse),
            ("rt_sigprocmask", (0,), refuse),
            ("rt_sigaction", (24,), refuse),
            ("fcntl", (3, 3), allow),
            ("fcntl", (3, 8, 1), refuse),
            ("fcntl", (3, 10, 9), refuse),
            ("fcntl", (3, 15), refuse),
            ("prctl", (1, 0), refuse),
            ("prctl", (15,), allow),
        ],
        "read": [
            ("openat", (-100, 0, os.O_RDONLY | os.O_CLOEXEC), allow),
            ("prlimit64", (0, 0), refuse),
            ("clone", (0x3D0F00,), allow),
            ("clone", (17,), refuse),
            ("ioctl", (3, 0x5401), allow),
            ("openat", (-100, 0, os.O_RDWR), refuse),
            ("openat", (-100, 0, os.O_WRONLY), refuse),
            ("openat", (-100, 0, os.O_TRUNC), refuse),
            ("openat", (-100, 0, os.O_CREAT), refuse),
        ],
        "convert": [
            ("clone", (0x3D0F00,), allow),
            ("clone", (17,), refuse),
            ("clone", (0x4111,), refuse),
            ("clone3", (0, 88), seccomp.ABSENT),
            ("socket", (1, 1), allow),
            ("socket", (2, 1), refuse),
            ("socket", (10,), refuse),
            ("kill", (77, 9), allow),
            ("kill", (-1, 9), refuse),
            ("kill", (0, 9), refuse),
            ("prlimit64", (0, 7), allow),
            ("prlimit64", (1, 7), refuse),
            ("faccessat", (-100, 0, 2), refuse),
            ("faccessat", (-100, 0, 4), allow),
            ("ioctl", (3, 0x5412), refuse),
            ("openat", (-100, 0, os.O_RDWR), allow),
        ],
    }
    for work, rows in expected.items():
        steps = seccomp.program(machine, 77, work)
        for name, args, answer in rows:
            assert verdict(steps, machine, numbers[name], *args) == answer, (work, name, args)


def test_calls_of_another_machine_kill(machine: str) -> None:
    steps = seccomp.program(machine, 77, "convert")
    assert verdict(steps, machine, 0, audit=0x40000003) == seccomp.KILL
    assert verdict(seccomp.program("x86_64", 77, "convert"), "x86_64", seccomp.X32_BIT) == seccomp.KILL


UNPRIVILEGED = """
import os, sys
from deedbox.kernel.sandbox import confine
confine.drop_capabilities()
confine._prctl(confine._PR_SET_NO_NEW_PRIVS, 1)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
PEEK = "import sys; open(f'/proc/{sys.argv[1]}/environ').read()"


def may_be_read(pid: int) -> bool:
    """Whether a process of the same user and without privilege can look into this one."""
    command = [sys.executable, "-c", UNPRIVILEGED, "-c", PEEK, str(pid)]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0


@contextmanager
def unprivileged_server(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    wrapper = data.parent / "python"
    wrapper.write_text(f"#!{sys.executable}\nimport sys\nsys.executable = {sys.executable!r}\n{UNPRIVILEGED}")
    wrapper.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setattr("tests.server.sys.executable", str(wrapper))
        server = start(data, prepared=False)
    try:
        yield server
    finally:
        server.stop()
        assert server.process.stdout
        server.process.stdout.close()


def test_no_process_of_the_same_user_can_look_into_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", UNPRIVILEGED, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ordinary:
        assert ordinary.stdout is not None
        assert ordinary.stdout.readline()
        assert may_be_read(ordinary.pid)
        ordinary.kill()
    with unprivileged_server(tmp_path / "data", monkeypatch) as server:
        assert not may_be_read(server.process.pid)
