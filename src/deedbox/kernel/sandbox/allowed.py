"""The system calls that each kind of sandbox may make; every other is refused. `seccomp` makes the filter of it."""

import os
from typing import Literal, NamedTuple, TypeAlias

Work: TypeAlias = Literal["compute", "read", "convert"]
"""To compute on what came through the pipe; to read files beside that; to be a program that converts a file."""

EQUAL = 0x15
ANY_BIT = 0x45
"""The two tests of an argument, as the kernel's filter language has them."""

_OWN_PID = -1
"""Stands for the process's own number, which is known when the filter is made."""


class ArgumentRule(NamedTuple):
    """Calls that are judged by one argument: whether it passes the test with one of these values."""

    calls: tuple[str, ...]
    argument: int
    test: int
    values: tuple[int, ...]
    allowed: bool = True


# Neither threads nor signal masks: SIGXCPU, which ends a child at its limit of computing, can be neither caught nor
# blocked, and only threads that were there when the filter closed compute.
_COMPUTE = """read readv write writev close lseek fstat newfstatat stat lstat statx getcwd
    brk mmap munmap mremap mprotect madvise membarrier mseal
    futex futex_waitv futex_wake futex_wait futex_requeue sched_yield sched_getaffinity getcpu rseq set_robust_list
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage restart_syscall
    getrandom getpid gettid getppid getuid geteuid getgid getegid uname sysinfo sigaltstack exit exit_group"""
_READ = """pread64 preadv getdents getdents64 access faccessat faccessat2 readlink readlinkat statfs fstatfs
    fadvise64 dup rt_sigprocmask"""
# What is not in it: connect and whatever sends to an address, a new process, links, modes and owners of files.
_CONVERT = """open openat pwrite64 pwritev ftruncate fallocate fsync fdatasync flock mkdir mkdirat rmdir unlink unlinkat
    rename renameat renameat2 chdir fchdir umask pipe pipe2 dup2 dup3 eventfd2 msync mincore mlock munlock
    poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    socketpair bind listen accept accept4 shutdown getsockname getsockopt setsockopt
    rt_sigaction rt_sigreturn rt_sigtimedwait wait4 set_tid_address arch_prctl map_shadow_stack
    execve getrlimit getpriority sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
    getresuid getresgid getgroups getpgid getpgrp getsid close_range"""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
_TCGETS, _FIOCLEX = 0x5401, 0x5451
_CLONE_THREAD = 0x10000
_AF_UNIX = 1
_W_OK = 2
_FCNTL_SIGNALS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: they make a pipe send any signal to any process

_COMPUTE_LOOKS = (
    ArgumentRule(("tgkill",), 0, EQUAL, (_OWN_PID,)),  # without its own signals a process could not abort
    ArgumentRule(("fcntl",), 1, EQUAL, _FCNTL_SIGNALS, allowed=False),
    ArgumentRule(("prctl",), 0, EQUAL, (_PR_SET_NAME, _PR_SET_VMA)),
)
_READ_LOOKS = (
    ArgumentRule(("open",), 1, ANY_BIT, (_WRITING,), allowed=False),
    ArgumentRule(("openat",), 2, ANY_BIT, (_WRITING,), allowed=False),
    ArgumentRule(("ioctl",), 1, EQUAL, (_TCGETS, _FIOCLEX)),
    ArgumentRule(("clone",), 0, ANY_BIT, (_CLONE_THREAD,)),
)
_CONVERT_LOOKS = (
    ArgumentRule(("ioctl",), 1, EQUAL, (_TCGETS, _FIOCLEX)),
    ArgumentRule(("clone",), 0, ANY_BIT, (_CLONE_THREAD,)),
    ArgumentRule(("socket",), 0, EQUAL, (_AF_UNIX,)),
    ArgumentRule(("kill",), 0, EQUAL, (_OWN_PID,)),
    ArgumentRule(("prlimit64",), 0, EQUAL, (0, _OWN_PID)),  # its limits are hard: it can only lower them
    # LibreOffice puts its socket into /tmp if that says it can be written; a fence is not asked by this call.
    ArgumentRule(("access",), 1, EQUAL, (_W_OK,), allowed=False),
    ArgumentRule(("faccessat", "faccessat2"), 2, EQUAL, (_W_OK,), allowed=False),
)

CALLS: dict[Work, tuple[str, ...]] = {
    "compute": tuple(_COMPUTE.split()),
    "read": tuple(f"{_COMPUTE} {_READ}".split()),
    "convert": tuple(f"{_COMPUTE} {_READ} {_CONVERT}".split()),
}
_LOOKS: dict[Work, tuple[ArgumentRule, ...]] = {
    "compute": _COMPUTE_LOOKS,
    "read": _COMPUTE_LOOKS + _READ_LOOKS,
    "convert": _COMPUTE_LOOKS + _CONVERT_LOOKS,
}


def looks(work: Work, own_pid: int) -> list[ArgumentRule]:
    """The calls of this work that are judged by an argument, before those that are allowed whatever it is."""
    return [
        look._replace(values=tuple(own_pid if value == _OWN_PID else value for value in look.values))
        for look in _LOOKS[work]
    ]
