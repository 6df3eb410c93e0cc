"""The image of `deploy/Containerfile`, built by buildah on a Debian made by mmdebstrap, and containers of it.

No registry is asked and no daemon needed: a container is the image's file system in namespaces of its own, with what
docs/how-to/container.md asks for: read only but for the volume and /tmp, no capability, no new privileges."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.deploy.proxies import DEPLOY
from tests.faults.fresh_machine import TRUSTED, Announced, make_root, read_announced, run

BASE, NAME = "localhost/debian", "localhost/deedbox"
STOP_SECONDS = 60
"""As the compose file and the how-to have it."""
_SLIM = ("path-exclude=/usr/share/man/*", "path-exclude=/usr/share/doc/*", "path-exclude=/usr/share/locale/*")
"""What Debian's own slim image goes without."""
_ENTER = """
set -eu
root=$1 volume=$2 user=$3
shift 3
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind "$volume" "$root/data"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
cd "$root"
pivot_root . mnt
umount -l /mnt
cd /
exec setpriv --reuid="$user" --regid="$user" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
"""


class Image:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        places = ["--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "overlay"]
        self._buildah = ["buildah", *places]

    def build(self, suite: str = "trixie") -> None:
        base = self._folder / "base.tar"
        make_root(base, suite, *(f"--dpkgopt={option}" for option in _SLIM))
        empty = self.buildah("from", "scratch")
        self.buildah("add", "--quiet", empty, str(base), "/")
        self.buildah("commit", "--quiet", empty, BASE)
        # Without the format, the health check would be left out.
        build = ["bud", "--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={BASE}"]
        if trusted := os.environ.get("SSL_CERT_FILE"):
            build += ["--volume", f"{trusted}:{TRUSTED}:ro"]
            build += ["--build-arg", f"SSL_CERT_FILE={TRUSTED}", "--build-arg", f"PIP_CERT={TRUSTED}"]
        self.buildah(*build, "--file", str(DEPLOY / "Containerfile"), "--tag", NAME, str(DEPLOY.parent))

    def buildah(self, *words: str) -> str:
        return run([*self._buildah, *words]).strip()

    def config(self) -> dict[str, Any]:
        """What the image says of how it is run."""
        found: dict[str, Any] = json.loads(self.buildah("inspect", "--type", "image", NAME))["Docker"]["config"]
        return found

    @contextlib.contextmanager
    def container(self, volume: Path, port: int) -> Iterator["Container"]:
        """A new one, whose file system nobody has written to."""
        name = self.buildah("from", NAME)
        try:
            yield Container(Path(self.buildah("mount", name)), volume, self.config(), port)
        finally:
            self.buildah("rm", name)


class Container:
    def __init__(self, root: Path, volume: Path, config: dict[str, Any], port: int) -> None:
        self.root = root
        self.config = config
        self.user = _uid(root, config["User"])
        self._volume = volume
        base_url = f"http://127.0.0.1:{port}"
        self._env = [*config["Env"], "HOME=/data", f"DEEDBOX_PORT={port}", f"DEEDBOX_BASE_URL={base_url}"]

    @contextlib.contextmanager
    def served(self) -> Iterator[Announced]:
        """Its own command, until it has printed how to get in; it is stopped as `docker stop` does."""
        log = self._volume.parent / "container.log"
        command = self._inside([*self.config["Entrypoint"], *self.config["Cmd"]])
        with log.open("a") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            yield read_announced(process.stdout, log)
            self.stop(process)
        finally:
            process.kill()  # unshare takes all that is inside with it
            process.wait(STOP_SECONDS)

    def stop(self, process: "subprocess.Popen[str]") -> None:
        os.kill(_child(process.pid), signal.SIGTERM)
        process.wait(STOP_SECONDS)
        assert process.returncode == 0, process.returncode

    def attempt(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Another command on the same volume: what runs beside the server sees its files and its port."""
        return subprocess.run(self._inside(list(command)), check=False, capture_output=True, text=True, timeout=300)

    def healthy(self, tries: int = 1) -> bool:
        """Whether the image's health check says so, once in so many tries."""
        kind, *command = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return any(self.attempt(*command).returncode == 0 for _ in range(tries))

    def _inside(self, command: list[str]) -> list[str]:
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        enter = ["sh", "-c", _ENTER, "enter", str(self.root), str(self._volume), str(self.user)]
        return [*apart, *enter, "env", "-i", *self._env, *command]


def missing() -> str:
    """Why no image can be built here; empty if one can."""
    if os.geteuid() != 0:
        return "building an image needs root"
    lacking = [name for name in ("buildah", "mmdebstrap", "unshare") if shutil.which(name) is None]
    return f"{', '.join(lacking)} not installed (scripts/fault-deps)" if lacking else ""


def _uid(root: Path, name: str) -> int:
    lines = (root / "etc/passwd").read_text().splitlines()
    return next(int(line.split(":")[2]) for line in lines if line.startswith(f"{name}:"))


def _child(pid: int) -> int:
    """The first process of the container, as this machine numbers it."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
