"""What code that took over a sandbox would try. Each attack says `done`, or the name of the error that stopped it."""

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

from deedbox.kernel.limits import MB
from deedbox.kernel.sandbox import seccomp
from deedbox.kernel.sandbox.syscalls import NUMBERS

_PTRACE_TRACEME = 0
_PTRACE_ATTACH = 16
_OTHER_NUMBERS = {
    "x86_64": {"ptrace": 101, "process_vm_readv": 310, "capset": 126, "unshare": 272},
    "aarch64": {"ptrace": 117, "process_vm_readv": 270, "capset": 91, "unshare": 97},
}
"""Of calls that the product has no word for."""
_libc = ctypes.CDLL(None, use_errno=True)
_threads: list[threading.Thread] = []


def switch_off_the_filter() -> None:
    """As a setup call: the seeded bug, a child with all its limits but without the filter."""
    seccomp.install = lambda work: ""  # noqa: ARG005


def make_the_kernel_answer(call: str, number: int) -> None:
    """As a setup call: from here on the kernel answers this system call with this error."""
    machine = os.uname().machine
    steps = [
        (seccomp.LOAD, 0, 0, 0),
        (seccomp.EQUAL, 0, 1, number_of(call)),
        (seccomp.RETURN, 0, 0, 0x00050000 | number),
        (seccomp.RETURN, 0, 0, seccomp.ALLOW),
    ]
    assert seccomp._set_filter(machine, steps) == 0


def number_of(call: str) -> int:
    machine = os.uname().machine
    return {**NUMBERS[machine], **_OTHER_NUMBERS[machine]}[call]


def _outcome(act: Callable[[], Any]) -> str:
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def _call(name: str, *args: Any) -> int:
    """The system call itself, without what a library does around it; OSError with what the kernel said."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in args]
    result: int = _libc.syscall(ctypes.c_long(number_of(name)), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def _fork(then: Callable[[], Any]) -> None:
    """Forks, and waits for what the new process did."""
    child = os.fork()
    if child == 0:
        os._exit(0 if _outcome(then) == "done" else 1)
    assert os.waitpid(child, 0)[1] == 0


def fork() -> str:
    return _outcome(lambda: _fork(lambda: None))


def fork_by_clone() -> str:
    def clone() -> None:
        if (child := _call("clone", signal.SIGCHLD, 0, 0, 0, 0)) == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return _outcome(clone)


def fork_by_clone3() -> str:
    def clone() -> None:
        wanted = ctypes.create_string_buffer(struct.pack("8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0))
        if (child := _call("clone3", wanted, 64)) == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return _outcome(clone)


def fork_and_leave_the_session() -> str:
    return _outcome(lambda: _fork(os.setsid))


def leave_the_session() -> str:
    return _outcome(os.setsid)


def spawn() -> str:
    return _outcome(lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0))


def execute() -> str:
    """Executes a file that is none: a kernel that looks for it would execute one that is."""
    outcome = _outcome(lambda: os.execv("/nonexistent", ["nonexistent"]))
    return "done" if outcome == "ENOENT" else outcome


def open_a_socket() -> str:
    def connectable() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM):
            return

    return _outcome(connectable)


def open_a_socket_pair() -> str:
    def pair() -> None:
        one, other = socket.socketpair()
        with one, other:
            return

    return _outcome(pair)


def signal_zero(pid: int) -> str:
    return _outcome(lambda: os.kill(pid, 0))


def signal_harmlessly(pid: int) -> str:
    """SIGCONT does nothing to a process that runs."""
    return _outcome(lambda: os.kill(pid, signal.SIGCONT))


def signal_a_thread(pid: int) -> str:
    return _outcome(lambda: _call("tgkill", pid, pid, 0))


def have_signals_sent(pid: int) -> str:
    """Makes a descriptor's owner of the process: the kernel would signal it when something can be read."""
    return _outcome(lambda: fcntl.fcntl(0, fcntl.F_SETOWN, pid))


def touch_the_limits(pid: int) -> str:
    """Reads the limits only; who may read another's limits may lower them."""
    return _outcome(lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE))


def outlive_the_server() -> str:
    return _outcome(lambda: _call("prctl", 1, 0, 0, 0, 0))


def be_traced() -> str:
    return _outcome(lambda: _call("ptrace", _PTRACE_TRACEME, 0, 0, 0))


def trace(pid: int) -> str:
    return _outcome(lambda: _call("ptrace", _PTRACE_ATTACH, pid, 0, 0))


def read_memory(pid: int) -> str:
    """Reads at an address of ours; it need not be one in the other process, for the right is checked first."""
    ours = ctypes.create_string_buffer(8)
    span = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(ours), 8))
    outcome = _outcome(lambda: _call("process_vm_readv", pid, span, 1, span, 1, 0))
    return "done" if outcome == "EFAULT" else outcome


def read_own_memory() -> str:
    return read_memory(os.getpid())


def read_file(path: str) -> str:
    def read() -> None:
        with open(path, "rb") as file:
            file.read(1)

    return _outcome(read)


def create_file(path: str) -> str:
    return _outcome(lambda: os.close(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT)))


def empty_file(path: str) -> str:
    return _outcome(lambda: os.close(os.open(path, os.O_RDONLY | os.O_TRUNC)))


def remove_file(path: str) -> str:
    return _outcome(lambda: os.unlink(path))


def rename_file(path: str) -> str:
    return _outcome(lambda: os.rename(path, f"{path}.moved"))


def make_folder(path: str) -> str:
    return _outcome(lambda: os.mkdir(f"{path}.folder"))


def share_memory() -> str:
    return _outcome(lambda: os.close(os.memfd_create("hidden")))


def start_a_thread() -> str:
    """What a thread said that was started just now, or why there is none."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append("from a thread"))
    try:
        thread.start()
    except RuntimeError as error:
        return str(error)
    thread.join()
    return found[0]


def leave_a_thread_running() -> None:
    """As a setup call: a thread as a library starts one; it forks whenever it is asked to."""
    _threads.append(_ForkingThread())
    _threads[0].start()


class _ForkingThread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.asked, self.answered, self.answer = threading.Event(), threading.Event(), ""

    def run(self) -> None:
        self.asked.wait()
        self.answer = fork_by_clone()
        self.answered.set()


def fork_in_the_old_thread() -> str:
    thread = _threads[0]
    assert isinstance(thread, _ForkingThread)
    thread.asked.set()
    thread.answered.wait()
    return thread.answer


def compute() -> int:
    return sum(n * n for n in range(100_000))


def allocate(size: int) -> int:
    block = bytearray(size)
    for place in range(0, size, MB):
        block[place] = 1
    return sum(block)


def call_back() -> int:
    """What C code got from a Python function that was made callable just now."""
    square = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n * n)
    result: int = square(12)
    return result


def call_by_the_old_door() -> None:
    """The getpid of 32-bit programs, through the interrupt that 64-bit programs can use as well."""
    assert sys.platform == "linux"
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(ctypes.c_int)(start)()


def call_by_x32() -> None:
    """getpid as a program of the x32 kind calls it."""
    _libc.syscall(ctypes.c_long(seccomp.X32_BIT | 39))
