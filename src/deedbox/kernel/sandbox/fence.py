"""The fence around a child that opens files: what it may read and write is named, and nothing else can be opened.

Landlock makes it where the kernel has a whole one; else a mount namespace of its own in which only these places are.
"""

import contextlib
import ctypes
import os
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from deedbox.kernel.limits import SANDBOX_START_SECONDS
from deedbox.kernel.sandbox import Fence, child_environment, seccomp
from deedbox.kernel.sandbox.syscalls import NUMBERS

Means: TypeAlias = Literal["landlock", "namespace"]

_ABI_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1, 4, 8
_FILE_RIGHTS = (
    1 | 2 | 4 | 1 << 14 | 1 << 15
)  # what a single file can be opened for: execute, write, read, truncate, ioctl
_RIGHTS = {3: 1 << 15, 4: 1 << 15, 5: 1 << 16}
"""By version of Landlock: the first bit after those of the rights that it can withhold; all of them are.

Before the third (Linux 6.2) it lets every file be emptied: such a one is as good as none.
"""

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _DETACH = 1, 2, 4, 32, 4096, 2
_RECURSIVE, _PRIVATE = 1 << 14, 1 << 18
_KEPT_FLAGS = 1 | 2 | 4 | 8 | 1024 | 2048
"""Flags of a mount that nobody in a namespace may take off; statvfs and mount give them the same bits."""
_BASE = "/tmp"  # noqa: S108 - any folder does: what is mounted on it is seen by this process alone
_OLD_ROOT = "/.old"


class NoFence(OSError):
    """This system can put up none."""


@cache
def means() -> Means | None:
    """How this system fences a child; None if it cannot. Where Landlock does not do a process tries the other way."""
    if seccomp.missing_reason():
        return None
    if _landlock_rights():
        return "landlock"
    trial = "from deedbox.kernel.sandbox import Fence, confine; confine.begin(Fence())"
    with contextlib.suppress(subprocess.TimeoutExpired):
        tried = subprocess.run(
            [sys.executable, "-P", "-c", trial],
            env=child_environment(),
            capture_output=True,
            check=False,
            timeout=SANDBOX_START_SECONDS,
        )
        return "namespace" if tried.returncode == 0 else None
    return None


def close(fence: Fence) -> None:
    """Puts up the fence around this process for good; NoFence if the system cannot. It must not have threads yet."""
    if sys.platform != "linux":
        raise NoFence(f"there is no fence on {sys.platform}")
    if len(os.listdir("/proc/self/task")) > 1:  # either way fences one thread only
        raise NoFence("a module has started a thread, which would stay outside")
    if rights := _landlock_rights():
        _restrict(fence, rights)
    else:
        _enter_namespace(fence)


def _landlock_rights() -> int:
    """All that Landlock can withhold here; 0 where it is missing or not whole."""
    try:
        version = _landlock("landlock_create_ruleset", None, 0, _ABI_VERSION)
    except OSError:  # the kernel is older, or it was started without
        return 0
    return _RIGHTS[min(version, max(_RIGHTS))] - 1 if version >= min(_RIGHTS) else 0


def _restrict(fence: Fence, rights: int) -> None:
    ruleset = _landlock("landlock_create_ruleset", ctypes.byref(ctypes.c_uint64(rights)), 8, 0)
    for places, granted in ((fence.reads, _READ_FILE | _READ_DIR), (fence.writes, rights & ~_EXECUTE)):
        for place in places:
            _grant(ruleset, place, granted)
    for place in fence.runs:
        _grant(ruleset, place, _READ_FILE | _READ_DIR | _EXECUTE)
    _landlock("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


def _grant(ruleset: int, place: str, rights: int) -> None:
    try:
        beneath = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(beneath).st_mode):
        rights &= _FILE_RIGHTS
    rule = rights.to_bytes(8, sys.byteorder) + beneath.to_bytes(4, sys.byteorder)
    _landlock("landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
    os.close(beneath)


def _enter_namespace(fence: Fence) -> None:
    """A root of nothing but an empty folder in memory, and in it the places of the fence."""
    here = os.getcwd()
    real = {place: os.path.realpath(place) for place in (*fence.reads, *fence.runs, *fence.writes)}
    try:
        _unshare()
        _mount(None, "/", None, _RECURSIVE | _PRIVATE)
        _mount("tmpfs", _BASE, "tmpfs", _NO_SUID | _NO_DEVICES, "size=1m")
        os.mkdir(_BASE + _OLD_ROOT)
        _call("pivot_root", _BASE.encode(), (_BASE + _OLD_ROOT).encode())
    except OSError as error:
        raise NoFence(error.errno, f"{error} (Landlock is missing too, or older than Linux 6.2)") from error
    os.chdir("/")
    for place, source in real.items():
        _bind(source, place, 0 if place in fence.writes else _READ_ONLY)
    _check("umount2", _libc().umount2(_OLD_ROOT.encode(), _DETACH))
    os.rmdir(_OLD_ROOT)
    with contextlib.suppress(OSError):
        os.chdir(here)


def _unshare() -> None:
    uid, gid = os.geteuid(), os.getegid()
    _check("unshare", _libc().unshare(_NEW_USER | _NEW_MOUNTS))
    # As bytes: who has become another user may be unable to load an encoding.
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (uid, uid))
    Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (gid, gid))


def _bind(real: str, place: str, flags: int) -> None:
    source, target = Path(f"{_OLD_ROOT}{real}"), Path(place)
    if not source.exists():
        return
    if not target.exists():
        (target if source.is_dir() else target.parent).mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(str(source), place, None, _BIND | _RECURSIVE)
    kept = os.statvfs(target).f_flag & _KEPT_FLAGS
    _mount(None, place, None, _BIND | _REMOUNT | kept | flags | _NO_SUID)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind)]
    options = data.encode() if data is not None else None
    _check(f"mount {target}", _libc().mount(*texts, ctypes.c_ulong(flags), options))


def _landlock(call: str, *args: object) -> int:
    return _call(call, *(ctypes.c_size_t(word) if isinstance(word, int) else word for word in args))


def _call(name: str, *args: object) -> int:
    result: int = _libc().syscall(ctypes.c_long(NUMBERS[os.uname().machine][name]), *args)
    return _check(name, result)


def _check(call: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
