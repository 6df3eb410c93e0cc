"""A fresh Debian: a root file system of its own, made by mmdebstrap from the suites of this machine's mirror."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from tests.server import environment

PASSED_ON = ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "http_proxy", "https_proxy", "no_proxy", "ALL_PROXY")
"""How this machine reaches its package index: the fresh one is told by its environment only."""
TRUSTED = "/trusted.pem"
"""Whom this machine trusts, where no package of the fresh one writes."""
USER = 1000
MINUTES = 60
"""For one command: the environment alone takes seven on two cores that six others use."""
_ENTER = """
set -eu
mount --make-rprivate /
mount --bind "$0" "$0"
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
cd "$0"
pivot_root . mnt
umount -l /mnt
user=$1 folder=$2
shift 2
cd "$folder"
exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
"""
# A chroot would do but for its sandboxes: inside one the kernel gives nobody a user namespace.


class Announced(Struct, frozen=True):
    """What a server prints; link and key are empty but at the very first start."""

    address: str
    login_link: str = ""
    api_key: str = ""


class FreshMachine:
    """A root file system with Python and make, and nothing else that Debian does not have by itself."""

    def __init__(self, root: Path, suite: str) -> None:
        self.root = root
        self.suite = suite

    def make(self, *packages: str) -> None:
        """Fills the root."""
        make_root(self.root, self.suite, f"--include={','.join(packages)}")
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            (self.root / name.lstrip("/")).write_bytes(Path(name).read_bytes())
        if trusted := os.environ.get("SSL_CERT_FILE"):
            (self.root / TRUSTED.lstrip("/")).write_bytes(Path(trusted).read_bytes())
        self.do(f"useradd --create-home --uid {USER} ann")

    def clone(self, user: int) -> str:
        """The work tree as it was committed, in the home of this user."""
        home = "/home/ann" if user else "/root"
        place = self.root / home.lstrip("/") / "deedbox"
        here = Path(__file__).parents[2]
        run(["git", "-c", f"safe.directory={here}", "clone", "--quiet", "--no-hardlinks", str(here), str(place)])
        run(["chown", "-R", f"{user}:{user}", str(place)])
        return f"{home}/deedbox"

    def do(self, command: str, *, user: int = 0, folder: str = "/") -> str:
        """What the shell command prints; AssertionError with all of it, if it fails."""
        done = self.attempt(command, user=user, folder=folder)
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    def attempt(self, command: str, *, user: int = 0, folder: str = "/") -> subprocess.CompletedProcess[str]:
        """The shell command, run to its end."""
        asked = self._inside(["sh", "-c", command], user, folder)
        return subprocess.run(
            asked,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60 * MINUTES,
            env=self._env(user),
        )

    @contextlib.contextmanager
    def served(self, user: int, folder: str) -> Iterator[Announced]:
        """`make serve` until it has printed how to get in; it is stopped at the end."""
        asked = self._inside(["make", "serve", "ARGS=--port 0"], user, folder)
        log = self.root.parent / f"serve-{self.suite}-{user}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._env(user))
        try:
            assert process.stdout is not None
            yield read_announced(process.stdout, log)
        finally:
            process.kill()  # unshare hears no gentler signal, and takes all that is inside with it
            process.wait(60)

    def _inside(self, command: list[str], user: int, folder: str) -> list[str]:
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        return [*apart, "sh", "-c", _ENTER, str(self.root), str(user), folder, *command]

    def _env(self, user: int) -> dict[str, str]:
        kept = {name: value for name, value in environment().items() if name in PASSED_ON}
        if (self.root / TRUSTED.lstrip("/")).exists():
            kept |= {"SSL_CERT_FILE": TRUSTED, "PIP_CERT": TRUSTED}
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return kept | {"PATH": path, "HOME": "/home/ann" if user else "/root", "LANG": "C.UTF-8"}


def missing() -> str:
    """Why no fresh machine can be made here; empty if one can."""
    if os.geteuid() != 0:
        return "making a root file system needs root"
    lacking = [name for name in ("mmdebstrap", "unshare", "apt-get", "git") if shutil.which(name) is None]
    return f"{', '.join(lacking)} not installed (scripts/fault-deps)" if lacking else ""


def make_root(target: Path, suite: str, *options: str) -> None:
    """A root file system, a folder or a tar file; its packages come from this machine's own mirror, as it asks it."""
    asked_so = target.parent / "apt.conf"
    asked_so.write_text("".join(f"{line}\n" for line in _apt_settings()))
    make = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--aptopt={asked_so}", *options]
    run([*make, suite, str(target), f"deb {_mirror()} {suite} main"])


def _mirror() -> str:
    """Where this machine gets Debian's own packages."""
    known = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]).splitlines()
    return next(line.split()[0] for line in known if line.endswith(" main") and "-" not in line.split()[1])


def _apt_settings() -> list[str]:
    """Of this machine's apt: proxies, and whether lists may be old."""
    wanted = re.compile(r"Acquire::(Check-Valid-Until|https?::)")
    return [line for line in run(["apt-config", "dump"]).splitlines() if wanted.match(line)]


def read_announced(output: IO[str], log: Path) -> Announced:
    """What a server prints until it can be used; AssertionError with its log, if it ends before."""
    printed = ""
    for line in output:
        printed += line
        if "Stop it with" in line:
            break
    found = [re.search(form, printed) for form in (r"running at (\S+)", r"(http\S+/login/\S+)", r"\s(deed_\S+)")]
    assert found[0] is not None, f"the server did not start: {printed}{log.read_text()[-4000:]}"
    return Announced(*(one[1] if one else "" for one in found))


def run(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60 * MINUTES)
    assert done.returncode == 0, f"{command[0]}: {done.stderr[-2000:]}"
    return done.stdout
