"""The limits that a child takes on. Lowered hard limits cannot be raised again, whatever runs in the child later."""

import ctypes
import math
import os
import resource
import signal
import sys

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522


def follow_parent() -> None:
    """On Linux the child is killed when its parent dies; elsewhere it ends at the end of its input."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def close_off(memory_bytes: int, open_files: int) -> None:
    """From here on: so much memory, no file written, no core dump, so many more open files, no new privilege."""
    if LINUX:  # macOS takes the limit and does not hold it
        _lower(resource.RLIMIT_AS, memory_bytes)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _descriptor_limit(open_files))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _drop_capabilities()


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
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _drop_capabilities() -> None:
    """Root in a container could raise its limits again; without capabilities it cannot."""
    if LINUX:
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)())
