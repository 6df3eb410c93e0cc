"""The seccomp filter of a sandbox's child: it may compute, and every other system call is refused."""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from deedbox.kernel.sandbox.syscalls import NUMBERS

Instruction: TypeAlias = tuple[int, int, int, int]
"""What to do, how many instructions to skip if it is true, how many if not, and with which constant."""

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

LOAD = 0x20
EQUAL = 0x15
AT_LEAST = 0x35
ANY_BIT = 0x45
RETURN = 0x06

KILL = 0x80000000
ALLOW = 0x7FFF0000
_ERROR = 0x00050000
REFUSE = _ERROR | errno.EPERM
ABSENT = _ERROR | errno.ENOSYS

_SET_MODE_FILTER = 1
_EVERY_THREAD = 1
_CLONE_THREAD = 0x10000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FCNTL_SIGNALS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: they make a pipe send any signal to any process
_PR_SET_PDEATHSIG = 1

_NETWORK = """socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg"""
_PROCESSES = """execve execveat fork vfork setsid setpgid unshare setns
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp move_pages migrate_pages
    pidfd_open pidfd_getfd pidfd_send_signal tkill setpriority ioprio_set capset"""
_FILES = """creat openat2 open_by_handle_at name_to_handle_at memfd_create memfd_secret
    unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat mkdir mkdirat rmdir mknod mknodat truncate
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
    fanotify_init fanotify_mark inotify_init inotify_init1 inotify_add_watch"""
_SHARED_MEMORY = """shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"""
_MACHINE = """mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
    quotactl quotactl_fd swapon swapoff acct reboot kexec_load kexec_file_load init_module finit_module delete_module
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname syslog vhangup"""
_RISKY = """io_uring_setup io_uring_enter io_uring_register io_setup io_submit splice tee vmsplice bpf perf_event_open
    userfaultfd keyctl add_key request_key personality iopl ioperm modify_ldt lookup_dcookie"""
REFUSED = " ".join((_NETWORK, _PROCESSES, _FILES, _SHARED_MEMORY, _MACHINE, _RISKY)).split()

# From this number on every machine counts alike. What a later kernel adds there is absent until it is named here.
_NEW = 424
NEW_ALLOWED = """close_range faccessat2 epoll_pwait2 futex_waitv set_mempolicy_home_node cachestat
    map_shadow_stack futex_wake futex_wait futex_requeue mseal"""


class _Look(NamedTuple):
    """Calls that are judged by one argument: `hit` if it passes the test with any of the values, else `miss`."""

    calls: tuple[str, ...]
    argument: int
    test: int
    values: tuple[int, ...]
    hit: int
    miss: int


def install(*, reading: bool) -> str:
    """Closes the filter on every thread; says why there is none if the system has none, else an empty text."""
    machine = os.uname().machine
    if machine not in NUMBERS or sys.maxsize < 2**32:
        return f"there is no filter for {machine}"
    absent = _set_filter(machine, None)
    if absent in (errno.ENOSYS, errno.EINVAL):
        return "the kernel has none"
    steps = program(machine, os.getpid(), reading=reading)
    if failed := _set_filter(machine, steps):
        raise OSError(failed, f"seccomp: {os.strerror(failed)}")
    return ""


def program(machine: str, own_pid: int, *, reading: bool) -> list[Instruction]:
    """The filter; it runs in the kernel at each system call and ends in a RETURN with the verdict."""
    numbers = NUMBERS[machine]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCHITECTURES[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    if machine == "x86_64":
        steps += [(AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    for look in _looks(own_pid, reading=reading):
        for number in _present(numbers, look.calls):
            steps += _judged(number, look)
    for number in _present(numbers, REFUSED if reading else [*REFUSED, "open", "openat"]):
        steps += _verdict(number, REFUSE)
    # The answer that makes the C library start its threads with clone, whose flags a filter can see.
    steps += _verdict(numbers["clone3"], ABSENT)
    steps += [(AT_LEAST, 1, 0, _NEW), (RETURN, 0, 0, ALLOW)]
    for number in _present(numbers, NEW_ALLOWED.split()):
        steps += _verdict(number, ALLOW)
    return [*steps, (RETURN, 0, 0, ABSENT)]


def _looks(own_pid: int, *, reading: bool) -> Iterator[_Look]:
    # Without its own signals a process could not abort.
    yield _Look(("tgkill", "kill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"), 0, EQUAL, (own_pid,), ALLOW, REFUSE)
    others = ("prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr")
    yield _Look(others, 0, EQUAL, (0, own_pid), ALLOW, REFUSE)
    yield _Look(("clone",), 0, ANY_BIT, (_CLONE_THREAD,), ALLOW, REFUSE)
    yield _Look(("fcntl",), 1, EQUAL, _FCNTL_SIGNALS, REFUSE, ALLOW)
    yield _Look(("prctl",), 0, EQUAL, (_PR_SET_PDEATHSIG,), REFUSE, ALLOW)
    if reading:
        yield _Look(("open",), 1, ANY_BIT, (_WRITING,), REFUSE, ALLOW)
        yield _Look(("openat",), 2, ANY_BIT, (_WRITING,), REFUSE, ALLOW)


def _judged(number: int, look: _Look) -> list[Instruction]:
    # The kernel itself reads only the lower half of each of these arguments, which comes first on both machines.
    steps: list[Instruction] = [(LOAD, 0, 0, 16 + 8 * look.argument)]
    for value in look.values:
        steps += [(look.test, 0, 1, value), (RETURN, 0, 0, look.hit)]
    steps.append((RETURN, 0, 0, look.miss))
    return [(EQUAL, 0, len(steps), number), *steps]


def _verdict(number: int, verdict: int) -> list[Instruction]:
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, verdict)]


def _present(numbers: dict[str, int], calls: list[str] | tuple[str, ...]) -> list[int]:
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
