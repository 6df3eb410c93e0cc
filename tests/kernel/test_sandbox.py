"""Sandboxes with real children: what comes back, what every limit does, and that nothing is left behind."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, Conflict, ErrorCode, ServiceError, Unavailable
from deedbox.kernel.sandbox import Fence, SandboxCall, SandboxFailed, SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.pdf.intake import convert
from tests.kernel.sandboxed import Encrypted

pytestmark = pytest.mark.anyio

MODULE = "tests.kernel.sandboxed"
PACKAGES = ("tests.kernel.",)
PYTHON = (*convert.webpage_fence().reads, str(Path(__file__).parents[1]))
"""What a child reads to load the modules of a test."""
WITHOUT_FILTER = (SandboxCall("tests.kernel.attacks:switch_off_the_filter"),)
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="the kernel has no such limit")


@asynccontextmanager
async def sandbox(**differences: Any) -> AsyncIterator[Sandbox]:
    settings: dict[str, Any] = {"memory_bytes": 512 * limits.MB, "seconds": 20, "cpu_seconds": 10}
    kind = SandboxKind(name="test", preload=(MODULE,), **{**settings, **differences})
    pool = Sandbox(kind, packages=PACKAGES)
    try:
        yield pool
    finally:
        await pool.close()


async def call(pool: Sandbox, function: str, *args: Any) -> Any:
    return await pool.call(f"{MODULE}:{function}", *args)


async def failure(pool: Sandbox, function: str, *args: Any) -> str:
    """The reason why the call failed, after a look that the next call works."""
    with pytest.raises(SandboxFailed) as failed:
        await call(pool, function, *args)
    assert (failed.value.status, failed.value.code) == (400, ErrorCode.SANDBOX_FAILED)
    assert await call(pool, "echo", "next") == ["next"]
    return failed.value.reason


@LINUX_ONLY
async def test_a_child_dies_before_the_server_when_memory_runs_out() -> None:
    async with sandbox() as pool:
        child = await call(pool, "pid")
        scores = [int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in (child, os.getpid())]
    assert scores[0] == 1000 > scores[1]


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def is_gone(pid: int) -> bool:
    """Whether the process ends while we look."""
    for _ in range(500):
        if not is_running(pid):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_values_come_back_as_they_went_in() -> None:
    values = [b"\x00\xff", "Žluťoučký", 7, -1.5, None, True, [1, [2]], {"a": {"b": b"c"}}]
    async with sandbox() as pool:
        assert await call(pool, "echo", *values) == values


async def test_large_values_cross_in_both_directions() -> None:
    body = os.urandom(1024) * 20_000
    async with sandbox() as pool:
        assert await call(pool, "echo", body) == [body]


async def test_a_child_is_used_again() -> None:
    async with sandbox() as pool:
        await pool.warm()
        assert len({await call(pool, "pid") for _ in range(5)}) == 1


async def test_a_child_is_replaced_after_many_calls() -> None:
    async with sandbox(calls=3) as pool:
        pids = [await call(pool, "pid") for _ in range(6)]
    assert len(set(pids[:3])) == len(set(pids[3:])) == 1
    assert pids[0] != pids[3]


async def test_setup_runs_before_the_first_call() -> None:
    async with sandbox(setup=(SandboxCall(f"{MODULE}:set_up", ("model",)),)) as pool:
        assert await call(pool, "loaded") == ["model"]


async def test_two_children_work_at_the_same_time() -> None:
    async with sandbox(processes=2) as pool:
        pids = await asyncio.gather(*(call(pool, "nap", 0.5) for _ in range(2)))
        assert len(set(pids)) == 2
        assert set(await asyncio.gather(*(call(pool, "pid") for _ in range(6)))) <= set(pids)


@LINUX_ONLY
async def test_a_memory_bomb_fails_only_itself() -> None:
    async with sandbox() as pool:
        assert await failure(pool, "eat_memory") == "memory"


async def test_endless_computing_is_ended_by_the_cpu_limit() -> None:
    async with sandbox(cpu_seconds=1) as pool:
        assert await failure(pool, "spin") == "cpu"


async def test_the_cpu_limit_counts_for_each_call_anew() -> None:
    async with sandbox(cpu_seconds=1) as pool:
        assert len({await call(pool, "spin_for", 0.6) for _ in range(4)}) == 1


@pytest.mark.parametrize("function", ["fall_silent", "stop_itself"])
async def test_a_stalled_call_is_ended_by_the_deadline(function: str) -> None:
    async with sandbox(seconds=0.5, setup=WITHOUT_FILTER) as pool:
        assert await failure(pool, function) == "deadline"


@pytest.mark.parametrize("function", ["leave", "abort", "segfault", "exit_politely", "deep", "unspeakable"])
async def test_a_child_that_breaks_fails_only_its_call(function: str) -> None:
    async with sandbox() as pool:
        assert await failure(pool, function) == "crashed"


async def test_a_child_that_dies_while_idle_is_replaced() -> None:
    async with sandbox() as pool:
        pid = await call(pool, "pid")
        os.kill(pid, signal.SIGKILL)
        assert await is_gone(pid)
        assert await call(pool, "pid") != pid


@pytest.mark.parametrize("function", ["read_file", "open_socket", "run_a_program", "raise_limits"])
async def test_nothing_outside_can_be_opened(function: str, caplog: pytest.LogCaptureFixture) -> None:
    async with sandbox() as pool:
        assert await failure(pool, function) == "crashed"
    told = ("Operation not permitted", "Too many open files", "Bad file descriptor", "not allowed to raise")
    assert any(words in caplog.text for words in told)


async def test_a_file_that_may_be_opened_can_be_read_but_not_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    out.write_text("before")
    async with sandbox(open_files=1, fence=Fence(reads=(*PYTHON, "/etc/passwd"))) as pool:
        assert "root" in await call(pool, "read_file")
        assert await failure(pool, "write_file", str(out)) == "crashed"
    if sys.platform == "linux":
        assert "Operation not permitted" in caplog.text
        assert out.read_text() == "before"
    else:
        assert "File too large" in caplog.text


async def test_without_a_filter_a_file_can_still_not_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inside = Fence(reads=PYTHON, writes=(str(tmp_path),))
    async with sandbox(open_files=1, fence=inside, setup=WITHOUT_FILTER) as pool:
        assert await failure(pool, "write_file", str(tmp_path / "out")) == "crashed"
    assert "File too large" in caplog.text
    assert not (tmp_path / "out").read_bytes()


async def test_a_result_over_the_limit_is_too_large() -> None:
    async with sandbox(memory_bytes=1024 * limits.MB) as pool:
        assert await failure(pool, "much", limits.SANDBOX_MESSAGE_BYTES + 1) == "too large"


async def test_an_argument_over_the_limit_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deedbox.kernel.sandbox.frames.SANDBOX_MESSAGE_BYTES", 1000)
    async with sandbox() as pool:
        assert await failure(pool, "echo", bytes(1001)) == "too large"


async def test_prints_do_not_disturb_the_answer() -> None:
    async with sandbox() as pool:
        assert await call(pool, "chatter") == "clean"
        assert await call(pool, "echo", 1) == [1]


@pytest.mark.parametrize(
    "body", [b"", b"\xc1", b"\x80", msgspec.msgpack.encode({"type": "done", "value": 1}) + b"x", b"\x91" * 5000]
)
async def test_a_forged_reply_is_a_crash(body: bytes) -> None:
    async with sandbox() as pool:
        assert await failure(pool, "forge_a_reply", body) == "crashed"


async def test_a_child_that_writes_unasked_is_replaced() -> None:
    async with sandbox(setup=WITHOUT_FILTER) as pool:
        first = await call(pool, "pid")
        assert await call(pool, "chatter_after_the_answer") == "answered"
        for _ in range(500):
            await asyncio.sleep(0.02)
            with contextlib.suppress(SandboxFailed):
                if await call(pool, "pid") != first:
                    break
        else:
            pytest.fail("the child is still in use")
        assert await call(pool, "echo", "next") == ["next"]


async def test_a_domain_error_crosses_with_its_class_message_and_code() -> None:
    async with sandbox() as pool:
        with pytest.raises(BadRequest, match=r"^This PDF is encrypted: é$") as plain:
            await call(pool, "refuse", "This PDF is encrypted: é")
        assert (type(plain.value), plain.value.code) == (BadRequest, ErrorCode.INVALID_REQUEST)
        with pytest.raises(Conflict) as coded:
            await call(pool, "refuse_with_code")
        assert (coded.value.message, coded.value.code) == ("The document is sealed", ErrorCode.IDEMPOTENCY_CONFLICT)
        with pytest.raises(Encrypted, match="encrypted"):
            await call(pool, "refuse_as_encrypted")


async def test_a_domain_error_of_an_unknown_class_comes_as_the_nearest_known_one() -> None:
    async with sandbox() as pool:
        with pytest.raises(ServiceError, match="Strange") as strange:
            await call(pool, "refuse_strangely")
    assert type(strange.value) is ServiceError


async def test_a_domain_error_leaves_the_child_in_use() -> None:
    async with sandbox() as pool:
        pid = await call(pool, "pid")
        with pytest.raises(BadRequest):
            await call(pool, "refuse", "no")
        assert await call(pool, "pid") == pid


async def test_another_exception_is_told_to_the_log_and_not_to_the_user(caplog: pytest.LogCaptureFixture) -> None:
    async with sandbox() as pool:
        with pytest.raises(SandboxFailed) as failed:
            await call(pool, "fail", "internal detail")
    assert failed.value.reason == "crashed"
    assert "internal detail" not in failed.value.message
    assert "ZeroDivisionError: internal detail" in caplog.text


async def test_the_child_sees_nothing_of_the_servers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEDBOX_MASTER_KEY", "hush-hush")
    async with sandbox() as pool:
        seen = await call(pool, "surroundings")
    assert "hush-hush" not in str(seen)
    assert set(seen["environment"]) <= {
        *("PYTHONPATH", "PYTHONUTF8", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LC_CTYPE"),
    }
    assert seen["folder"] == "/"


async def test_the_child_has_a_session_of_its_own() -> None:
    async with sandbox() as pool:
        pid = await call(pool, "pid")
        assert pid == os.getpgid(pid) == os.getsid(pid) != os.getsid(0)


async def test_a_call_over_the_queue_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FAIR_QUEUE_LENGTH", 2)
    async with sandbox() as pool:
        await pool.warm()
        three = [asyncio.create_task(call(pool, "nap", 0.5)) for _ in range(3)]
        await asyncio.sleep(0.1)
        with pytest.raises(Unavailable) as busy:
            await call(pool, "pid")
        assert busy.value.code == ErrorCode.BUSY
        assert len(set(await asyncio.gather(*three))) == 1
        assert await call(pool, "echo", 1) == [1]


async def test_time_in_the_queue_does_not_count_for_the_deadline() -> None:
    async with sandbox(seconds=2) as pool:
        await pool.warm()
        pids = await asyncio.gather(*(call(pool, "nap", 0.8) for _ in range(4)))
    assert len(set(pids)) == 1


async def test_a_cancelled_call_kills_its_child() -> None:
    async with sandbox() as pool:
        pid = await call(pool, "pid")
        running = asyncio.create_task(call(pool, "nap", 60))
        await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await is_gone(pid)
        assert await call(pool, "pid") != pid


async def test_a_call_cancelled_while_it_waits_leaves_the_queue() -> None:
    async with sandbox() as pool:
        first = asyncio.create_task(call(pool, "nap", 0.5))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(call(pool, "nap", 0.1))
        await asyncio.sleep(0.1)
        second.cancel()
        assert await first == await call(pool, "pid")


async def test_what_the_child_started_dies_with_it_where_no_filter_forbids_it() -> None:
    async with sandbox(setup=WITHOUT_FILTER) as pool:
        left = await call(pool, "leave_a_child_behind")
        assert is_running(left)
    assert await is_gone(left)


async def test_close_leaves_no_child_and_ends_running_calls_as_unavailable() -> None:
    async with sandbox(processes=2) as pool:
        pids = await asyncio.gather(*(call(pool, "nap", 0.3) for _ in range(2)))
        running = asyncio.create_task(call(pool, "nap", 60))
        await asyncio.sleep(0.1)
        await pool.close()
        with pytest.raises(Unavailable) as stopped:
            await running
        assert stopped.value.code == ErrorCode.DRAINING
        with pytest.raises(Unavailable):
            await call(pool, "pid")
    assert all([await is_gone(pid) for pid in pids])


PARENT = f"""
import asyncio, sys
from deedbox.kernel.sandbox import SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox

async def main():
    pool = Sandbox(SandboxKind(name="test", preload=("{MODULE}",), processes=2, cpu_seconds=30), packages={PACKAGES})
    pids = await asyncio.gather(*(pool.call("{MODULE}:nap", 0.3) for _ in range(2)))
    busy = asyncio.create_task(pool.call("{MODULE}:nap", 60))
    await asyncio.sleep(0.1)
    print(*pids, flush=True)
    await busy

asyncio.run(main())
"""


async def test_the_children_die_when_the_server_is_killed() -> None:
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(is_running(pid) for pid in pids)
        parent.kill()
    assert all([await is_gone(pid) for pid in pids])


async def test_only_preloaded_modules_of_named_packages_can_be_called() -> None:
    async with sandbox() as pool:
        with pytest.raises(ValueError, match="os:getpid"):
            await pool.call("os:getpid")
    foreign = Sandbox(SandboxKind(name="test", preload=("os",)), packages=PACKAGES)
    with pytest.raises(SandboxFailed):
        await foreign.call("os:getpid")
    await foreign.close()


async def test_a_sandbox_that_cannot_start_is_the_servers_fault(caplog: pytest.LogCaptureFixture) -> None:
    pool = Sandbox(SandboxKind(name="test", preload=("tests.kernel.missing",)), packages=PACKAGES)
    for _ in range(2):
        with pytest.raises(Unavailable, match="its log says why"):
            await pool.call("tests.kernel.missing:anything")
    refusing = Sandbox(
        SandboxKind(name="test", preload=(MODULE,), setup=(SandboxCall(f"{MODULE}:refuse", ("no model",)),)),
        packages=PACKAGES,
    )
    with pytest.raises(Unavailable):
        await call(refusing, "pid")
    await asyncio.gather(pool.close(), refusing.close())
    assert "no model" in caplog.text
    assert "No module named 'tests.kernel.missing'" in caplog.text


async def test_no_descriptor_is_left_open() -> None:
    async with sandbox() as pool:
        await failure(pool, "leave")
    before = set(os.listdir("/dev/fd"))
    for _ in range(3):
        async with sandbox() as pool:
            await failure(pool, "leave")
    assert len(os.listdir("/dev/fd")) <= len(before)


async def test_a_child_that_nobody_calls_is_ended_and_the_next_call_starts_a_fresh_one() -> None:
    async with sandbox(idle_seconds=0.05) as pool:
        first = await call(pool, "pid")
        while is_running(first):
            await asyncio.sleep(0.01)
        second = await call(pool, "pid")
        assert second != first


async def test_a_child_is_not_ended_while_a_call_runs_however_short_its_patience() -> None:
    async with sandbox(idle_seconds=0.01) as pool:
        await pool.warm()
        assert await call(pool, "nap", 0.3) > 0


async def test_a_child_of_a_kind_without_a_limit_waits_for_ever() -> None:
    async with sandbox(idle_seconds=None) as pool:
        first = await call(pool, "pid")
        assert list(pool._idle.values()) == [None]
        assert await call(pool, "pid") == first


async def test_a_call_may_have_less_computing_than_its_kind() -> None:
    async with sandbox(cpu_seconds=100, seconds=100) as pool:
        with pytest.raises(SandboxFailed) as failed:
            await pool.call(f"{MODULE}:spin", cpu_seconds=1)
        assert failed.value.reason == "cpu"
