"""Resource limits of a sandbox's child. They are hard: nothing that runs in the child later can raise them."""

import ctypes
import math
import os
import resource
import signal
import sys

from deedbox.kernel.sandbox import seccomp

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522


def begin() -> None:
    """Before anything is loaded: on Linux the child dies with its parent and has no privilege, now or later."""
    if LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Capabilities belong to a thread: they go before a module can start one.
        _drop_capabilities()
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def close_off(memory_bytes: int, open_files: int) -> str:
    """From here on: so much memory, so many more files open for reading, no other system call that reaches outside.

    What comes back is empty, or says why Linux could not filter the calls; OSError if it refused.
    """
    if LINUX:  # macOS takes the limit and does not hold it
        _lower(resource.RLIMIT_AS, memory_bytes)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _descriptor_limit(open_files))
    hide_memory()
    return seccomp.install(reading=open_files > 0) if LINUX else ""


def hide_memory() -> None:
    """On Linux no other process of the same user can read this one's memory or trace it, and it dumps no core."""
    if LINUX:
        _prctl(_PR_SET_DUMPABLE, 0)


def allow_cpu(seconds: int) -> None:
    """The kernel ends the process with SIGXCPU after so many more seconds of computing."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _lower(limit: int, value: int) -> None:
    hard = resource.getrlimit(limit)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


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


def _drop_capabilities() -> None:
    """Root in a container could raise its limits again; without capabilities it cannot."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check("capset", ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()))


def _check(call: str, result: int) -> None:
    """OSError if the kernel refused: a child that is not confined must not work."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
