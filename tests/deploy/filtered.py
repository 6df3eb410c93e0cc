"""Runs a program under a filter of system calls as systemd makes one: `… -m tests.deploy.filtered CALLS -- PROGRAM …`.

The names of the calls are in the file CALLS, one on a line; with numbers after it, a call is allowed with one of these
as its first argument."""

import ctypes
import os
import sys
from pathlib import Path

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1  # with EPERM, as the unit says
_EQUAL = 4
_UNKNOWN = -1


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def install(allowed: dict[str, list[int]]) -> None:
    """From here on this process makes only these calls; with numbers, only with one of them as the first argument."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    made = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_REFUSE)))
    for name, firsts in allowed.items():
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number == _UNKNOWN:
            continue  # one of a newer kernel or another machine
        for one in [_Comparison(0, _EQUAL, first, 0) for first in firsts]:
            _check(library.seccomp_rule_add_array(made, ctypes.c_uint32(_ALLOW), number, 1, ctypes.byref(one)))
        if not firsts:
            _check(library.seccomp_rule_add_array(made, ctypes.c_uint32(_ALLOW), number, 0, None))
    _check(library.seccomp_load(made))


def _check(result: int) -> None:
    if result != 0:
        raise OSError(-result, os.strerror(-result))


if __name__ == "__main__":
    calls, separator, *command = sys.argv[1:]
    assert separator == "--"
    lines = [line.split() for line in Path(calls).read_text().splitlines()]
    install({name: [int(number) for number in numbers] for name, *numbers in lines})
    os.execv(command[0], command)
