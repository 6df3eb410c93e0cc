"""The program between the server and LibreOffice: takes on limits, fence and filter, and becomes LibreOffice.

What a server sets between fork and exec can hang it; so this process is started first.
"""

import os
import resource
import sys

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.sandbox import Fence, confine, seccomp
from deedbox.kernel.sandbox.fence import NoFence
from deedbox.pdf import limits

UNFENCED = 78
"""What the process ends with where it cannot be confined."""


class ConversionRequest(msgspec.Struct, frozen=True):
    """What to become, in which folder, and within which fence, if the system can put one up or one is demanded."""

    program: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    fence: Fence
    fence_demanded: bool
    seconds: int = limits.CONVERT_SECONDS


_ORDER = msgspec.json.Decoder(ConversionRequest)


def main(order: ConversionRequest) -> None:
    try:
        confine.begin(order.fence, threads=limits.CONVERT_THREADS, demanded=order.fence_demanded)
    except NoFence:
        sys.exit(UNFENCED)
    if confine.LINUX:
        confine.lower(resource.RLIMIT_AS, limits.CONVERT_MEMORY_BYTES)
    confine.lower(resource.RLIMIT_CPU, order.seconds)
    confine.lower(resource.RLIMIT_FSIZE, shared_limits.PREPARED_FILE_BYTES)
    confine.lower(resource.RLIMIT_CORE, 0)
    confine.lower(resource.RLIMIT_NOFILE, limits.OFFICE_OPEN_FILES)
    if seccomp.install("convert") and order.fence_demanded:
        sys.exit(UNFENCED)
    os.execve(order.program[0], order.program, order.environment)  # noqa: S606 - becoming the program is the point


if __name__ == "__main__":
    main(_ORDER.decode(sys.argv[1]))
