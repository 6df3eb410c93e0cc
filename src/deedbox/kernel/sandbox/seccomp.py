"""The seccomp filter of a sandbox's child: what its kind of work needs is allowed, every other system call refused."""

import ctypes
import errno
import os
import struct
import sys
from typing import TypeAlias

from deedbox.kernel.sandbox.allowed import ANY_BIT, CALLS, EQUAL, ArgumentRule, Work, looks
from deedbox.kernel.sandbox.syscalls import NUMBERS

__all__ = ["ANY_BIT", "EQUAL", "install", "program"]

Instruction: TypeAlias = tuple[int, int, int, int]
"""What to do, how many instructions to skip if it is true, how many if not, and with which constant."""

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

LOAD = 0x20
AT_LEAST = 0x35
RETURN = 0x06

KILL = 0x80000000
ALLOW = 0x7FFF0000
_ERROR = 0x00050000
REFUSE = _ERROR | errno.EPERM
ABSENT = _ERROR | errno.ENOSYS

_SET_MODE_FILTER = 1
_EVERY_THREAD = 1
# From this number on every machine counts alike. What is not allowed there is absent, so that libraries do without.
_NEW = 424


def missing_reason() -> str:
    """Why this system has no filter; empty if it has."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in NUMBERS or sys.maxsize < 2**32:
        return f"there is no filter for {sys.platform} on {machine}"
    if _set_filter(machine, None) in (errno.ENOSYS, errno.EINVAL):
        return "the kernel has none"
    return ""


def install(work: Work) -> str:
    """Closes the filter on every thread; says why there is none if the system has none, else an empty text."""
    if reason := missing_reason():
        return reason
    machine = os.uname().machine
    if failed := _set_filter(machine, program(machine, os.getpid(), work)):
        raise OSError(failed, f"seccomp: {os.strerror(failed)}")
    return ""


def program(machine: str, own_pid: int, work: Work) -> list[Instruction]:
    """The filter; it runs in the kernel at each system call and ends in a RETURN with the verdict."""
    numbers = NUMBERS[machine]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCHITECTURES[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    if machine == "x86_64":
        steps += [(AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    for look in looks(work, own_pid):
        for number in _present(numbers, look.calls):
            steps += _judged(number, look)
    for number in _present(numbers, CALLS[work]):
        steps += _verdict(number, ALLOW)
    # The answer that makes the C library start its threads with clone, whose flags a filter can see.
    steps += _verdict(numbers["clone3"], ABSENT)
    return [*steps, (AT_LEAST, 0, 1, _NEW), (RETURN, 0, 0, ABSENT), (RETURN, 0, 0, REFUSE)]


def _judged(number: int, look: ArgumentRule) -> list[Instruction]:
    hit, miss = (ALLOW, REFUSE) if look.allowed else (REFUSE, ALLOW)
    # The kernel itself reads only the lower half of each of these arguments, which comes first on both machines.
    steps: list[Instruction] = [(LOAD, 0, 0, 16 + 8 * look.argument)]
    for value in look.values:
        steps += [(look.test, 0, 1, value), (RETURN, 0, 0, hit)]
    steps.append((RETURN, 0, 0, miss))
    return [(EQUAL, 0, len(steps), number), *steps]


def _verdict(number: int, verdict: int) -> list[Instruction]:
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, verdict)]


def _present(numbers: dict[str, int], calls: tuple[str, ...]) -> list[int]:
    return [numbers[call] for call in calls if call in numbers]


def _set_filter(machine: str, steps: list[Instruction] | None) -> int:
    """The error number, 0 for success. Without steps it changes nothing: EFAULT then means that filters exist."""
    address = None
    if steps is not None:
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        address = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    number = ctypes.c_long(NUMBERS[machine]["seccomp"])
    # Not by prctl, which would leave threads that the modules have started without the filter.
    result: int = libc.syscall(number, ctypes.c_ulong(_SET_MODE_FILTER), ctypes.c_ulong(_EVERY_THREAD), address)
    if result > 0:  # the thread that could not take the filter
        return errno.EBUSY
    return ctypes.get_errno() if result else 0
