"""The image of `deploy/Containerfile`, built by buildah on a Debian of mmdebstrap: it serves without privileges."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.rigs import only_in_full
from tests.rigs.fresh_machine import TRUSTED, Announced, FreshMachine, missing, read_announced
from tests.server import environment

CANNOT = missing() or ("" if shutil.which("buildah") else "buildah is not installed (scripts/rig-deps)")
pytestmark = [only_in_full, pytest.mark.skipif(bool(CANNOT), reason=CANNOT or "-")]

HERE = Path(__file__).parents[2]
MOST_MB = 1000
PORT = "18087"


class Buildah:
    """Images and containers in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        kept = ["--root", str(folder / "storage"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]
        self._program = ["buildah", *kept]

    def do(self, *words: str) -> str:
        done = subprocess.run([*self._program, *words], check=False, capture_output=True, text=True, env=environment())
        assert done.returncode == 0, f"buildah {words[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout.strip()

    def base(self, root: Path) -> None:
        made = self.do("from", "scratch")
        self.do("add", made, str(root), "/")
        self.do("commit", "--quiet", made, "localhost/base")
        self.do("rm", made)

    def build(self) -> None:
        """As the how-to says, on this base, and with this machine's authorities where it has its own."""
        words = ["build", "--isolation", "chroot", "--format", "docker", "--build-arg", "BASE=localhost/base"]
        if trusted := os.environ.get("SSL_CERT_FILE"):
            words += ["--volume", f"{trusted}:{TRUSTED}:ro"]
            words += ["--build-arg", f"PIP_CERT={TRUSTED}", "--build-arg", f"SSL_CERT_FILE={TRUSTED}"]
        self.do(*words, "-f", str(HERE / "deploy/Containerfile"), "-t", "localhost/deedbox", str(HERE))

    @contextlib.contextmanager
    def served(self, container: str, log: Path) -> Iterator[Announced]:
        address = f"http://127.0.0.1:{PORT}"
        run = ["run", "--isolation", "chroot", "--env", f"DEEDBOX_BASE_URL={address}", container, "deedbox", "serve"]
        with log.open("w") as errors:
            process = subprocess.Popen(
                [*self._program, *run, "--host", "0.0.0.0", "--public", "--port", PORT],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment(),
            )
        try:
            assert process.stdout is not None
            yield read_announced(process.stdout, log)
        finally:
            process.terminate()
            process.wait(60)


def test_the_image_serves_without_privileges_and_holds_no_secret(tmp_path: Path) -> None:
    machine = FreshMachine(tmp_path / "trixie", "trixie")
    machine.make("ca-certificates")
    (machine.root / TRUSTED.lstrip("/")).unlink(missing_ok=True)
    buildah = Buildah(tmp_path)
    buildah.base(machine.root)
    buildah.build()

    image = json.loads(buildah.do("inspect", "--type", "image", "localhost/deedbox"))
    made = image["Docker"]["config"]
    assert made["User"] == "deedbox"
    assert "/livez" in " ".join(made["Healthcheck"]["Test"])
    assert {name.partition("=")[0] for name in made["Env"]} == {"PATH", "DEEDBOX_DATA_DIR", "DEEDBOX_MODELS_DIR"}

    container = buildah.do("from", "localhost/deedbox")
    root = Path(buildah.do("mount", container))
    assert not list((root / "data").iterdir())
    assert not list(root.glob("opt/deedbox/**/master.key"))
    size = int(subprocess.run(["du", "-sm", str(root)], check=True, capture_output=True, text=True).stdout.split()[0])
    print(f"image: {size} MB")
    assert size < MOST_MB

    with buildah.served(container, tmp_path / "log") as announced, httpx.Client(trust_env=False) as client:
        assert client.get(f"{announced.address}/readyz").status_code == 200
        health = [word.replace(":8080", f":{PORT}") for word in made["Healthcheck"]["Test"][1:]]
        buildah.do("run", "--isolation", "chroot", container, *health)
        found = json.loads(buildah.do("run", "--isolation", "chroot", container, "deedbox", "doctor", "--json"))
    assert found["healthy"], found
    with pytest.raises(AssertionError, match="refused"):
        buildah.do("run", "--isolation", "chroot", container, *health)
