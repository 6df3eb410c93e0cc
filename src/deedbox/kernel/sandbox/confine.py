"""Limits, fence and filter of a sandbox's child: nothing that runs in the child later can lift them."""

import contextlib
import ctypes
import math
import os
import resource
import signal
import stat
import sys
from pathlib import Path

from deedbox.kernel.clock import computing_seconds
from deedbox.kernel.sandbox import Fence, seccomp
from deedbox.kernel.sandbox import fence as fences

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_NOBODY = 65534
_DIES_FIRST = "1000"
"""The highest `oom_score_adj` there is."""
_MOST_THREADS = 1 << 22
"""No Linux has more."""


def begin(fence: Fence | None = None, *, threads: int = 0, demanded: bool = True) -> None:
    """Before anything is loaded: on Linux the child dies with its parent and has no privilege, now or later.

    From here on a child with a fence opens nothing outside it and starts so many threads at most. NoFence if it is
    demanded and the system has none.
    """
    if LINUX:
        die_before_the_server()
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if fence is not None:
        _enclose(fence, threads, demanded=demanded)
    if LINUX:
        # Capabilities belong to a thread: they go before a module can start one.
        drop_capabilities()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # after a change of user, which makes the kernel forget it


def die_before_the_server() -> None:
    """Where memory runs out, the kernel ends this child, and what it starts, before any other process."""
    # A child of another user, or a /proc that cannot be written, stays as it is: the sandbox's own limit holds anyway.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_DIES_FIRST, encoding="ascii")


def close_off(memory_bytes: int, open_files: int, cpu_seconds: int) -> str:
    """From here on: so much memory, so many more files open for reading, and only the system calls that this takes.

    The computing is for all calls together: the server may be unable to limit each, if the child is another user's.
    What comes back is empty, or says why Linux could not filter the calls; OSError if it refused.
    """
    if LINUX:  # macOS takes the limit and does not hold it
        lower(resource.RLIMIT_AS, memory_bytes)
        allow_cpu(os.getpid(), cpu_seconds, for_good=True)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_NOFILE, _descriptor_limit(open_files))
    hide_memory()
    return seccomp.install("read" if open_files else "compute") if LINUX else ""


def _enclose(fence: Fence, threads: int, *, demanded: bool) -> None:
    if LINUX:
        if os.geteuid() == 0:
            _become_nobody(fence)
        # The kernel counts threads by user, not by process, and does not count those of a root that stays root.
        lower(resource.RLIMIT_NPROC, _thread_limit(threads))
    try:
        fences.close(fence)
    except fences.NoFence:
        if demanded:
            raise


def _become_nobody(fence: Fence) -> None:
    """Root becomes a user without rights, if that one can get at every place of the fence."""
    own = [Path(place).resolve() for place in fence.writes if os.path.exists(place)]
    others = [Path(place).resolve() for place in (*fence.reads, *fence.runs) if os.path.exists(place)]
    passed = {above for place in (*own, *others) for above in place.parents}
    passed.update(place for place in others if place.is_dir())
    if not all(folder.stat().st_mode & stat.S_IXOTH for folder in passed):
        return
    try:
        os.setgroups([])  # the first to fail, before anything has another owner
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        for folder in (place for place in own if place.is_dir()):
            for path in (folder, *folder.rglob("*")):
                os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    except OSError:  # root of a container that has no such user, or without the right to become one
        return
    _prctl(_PR_SET_DUMPABLE, 1)  # another user's process could not look at itself, which a fence may take


def _thread_limit(threads: int) -> int:
    """The limit under which so many more can start, and at least half of them where others of the user are hidden.

    The kernel counts all threads of a user, a container shows its own.
    """
    seen = max(1, _threads_of(os.getuid()))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    for guess in (seen << doublings for doublings in range(_MOST_THREADS.bit_length())):
        resource.setrlimit(resource.RLIMIT_NPROC, (_within(guess + max(1, threads // 2), hard), hard))
        if _can_fork():
            return guess + threads
    return seen + threads  # something else has run out: no limit would help


def _can_fork() -> bool:
    try:
        child = os.fork()
    except BlockingIOError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def _threads_of(user: int) -> int:
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has just ended
            continue
        if int(lines["Uid"].split()[0]) == user:
            found += int(lines["Threads"])
    return found


def hide_memory() -> None:
    """On Linux no other process of the same user can read this one's memory or trace it, and it dumps no core."""
    if LINUX:
        _prctl(_PR_SET_DUMPABLE, 0)


def allow_cpu(pid: int, seconds: float, *, for_good: bool = False) -> None:
    """The kernel ends this child with SIGXCPU after so many more seconds of computing; for good: else with SIGKILL.

    On Linux the server sets it for each call, for a child that is closed off is not allowed to; PermissionError if the
    child is another user's. Elsewhere the child does it for itself.
    """
    if LINUX:
        hard = resource.prlimit(pid, resource.RLIMIT_CPU)[1]
        soft = _within(math.ceil(computing_seconds(pid) + seconds), hard)
        resource.prlimit(pid, resource.RLIMIT_CPU, (soft, _within(soft + 1, hard) if for_good else hard))
    elif pid == os.getpid():
        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (_within(soft, hard), hard))


def lower(limit: int, value: int) -> None:
    """The limit is at most this from here on, and cannot be raised."""
    value = _within(value, resource.getrlimit(limit)[1])
    resource.setrlimit(limit, (value, value))


def _within(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _descriptor_limit(extra: int) -> int:
    """The limit under which exactly `extra` descriptors are free: it bounds numbers, not how many are open."""
    limit = 0
    while extra > 0:
        extra -= not _is_open(limit)
        limit += 1
    return limit


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _prctl(option: int, value: int) -> None:
    words = [ctypes.c_ulong(word) for word in (value, 0, 0, 0)]
    _check("prctl", ctypes.CDLL(None, use_errno=True).prctl(option, *words))


def drop_capabilities() -> None:
    """Root in a container could raise its limits again; without capabilities it cannot."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check("capset", ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()))


def _check(call: str, result: int) -> None:
    """OSError if the kernel refused: a child that is not confined must not work."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
