"""The program between the server and LibreOffice: takes on limits, leaves the network if it may, becomes LibreOffice.

It is run by its path and knows nothing of the rest. Limits that a server sets between fork and exec can hang it.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def main(seconds: int, memory_bytes: int, file_bytes: int, program: list[str]) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Not every container allows it; the profile that LibreOffice gets is the second wall.
        with contextlib.suppress(AttributeError):
            libc.unshare(_NEW_USER | _NEW_NETWORK)
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.execv(program[0], program)  # noqa: S606 - becoming the program is the point


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
