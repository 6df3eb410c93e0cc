"""The embedding models that are installed: a folder each, one of them in use."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from deedbox.kernel.errors import NotFound, SetupError
from deedbox.search.embed import NO_PREFIXES, Prefixes
from deedbox.search.limits import MODEL_NAME_CHARS

GRAPH, TOKENIZER, RECORD = "model.onnx", "tokenizer.json", "model.json"
_CURRENT = "current"
OCR = "ocr"
"""The folder beside the models in which those lie that read scans."""
_LOCK = ".lock"
_UNFINISHED = ".unfinished-"
_REPLACED = ".replaced-"
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MODEL_NAME_CHARS - 1}}}")


class Model(msgspec.Struct, frozen=True):
    """An installed model, by its model.json. The window is counted in tokens, special ones included."""

    name: str
    dimensions: int
    window: int
    precision: Literal["int8", "fp32"]
    fingerprint: str
    """SHA-256 over graph and tokenizer: vectors of another fingerprint cannot be compared with these."""
    prefixes: Prefixes = NO_PREFIXES


_MODEL = msgspec.json.Decoder(Model)


def is_name(text: str) -> bool:
    """Whether the text can name a model, and its folder."""
    return _NAME.fullmatch(text) is not None and text not in (_CURRENT, OCR)


def fingerprint(graph: bytes, tokenizer: bytes) -> str:
    return hashlib.sha256(hashlib.sha256(graph).digest() + hashlib.sha256(tokenizer).digest()).hexdigest()


def list_models(folder: Path) -> list[Model]:
    """Every model that is installed there, by name."""
    if not folder.is_dir():
        return []
    found = (_read(entry) for entry in sorted(folder.iterdir()) if is_name(entry.name))
    return [model for model in found if model is not None]


def current(folder: Path) -> Model | None:
    """The model in use; None when there is none."""
    try:
        name = (folder / _CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return _read(folder / name) if is_name(name) else None


def use(folder: Path, name: str) -> Model:
    """Makes an installed model the one in use."""
    model = _read(folder / name) if is_name(name) else None
    if model is None:
        names = ", ".join(one.name for one in list_models(folder)) or "none"
        raise NotFound(f"There is no model {name}. Installed: {names}. `deedbox model install` installs one.")
    with _locked(folder):
        _mark(folder, name)
    return model


def add(folder: Path, model: Model, graph: bytes, tokenizer: bytes) -> None:
    """Installs a model in one step, in place of one of its name; the first one is in use at once."""
    with _reported(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            _sweep(folder)
            fresh = folder / f"{_UNFINISHED}{uuid.uuid4().hex}"
            fresh.mkdir(mode=0o700)
            try:
                _write(fresh / GRAPH, graph)
                _write(fresh / TOKENIZER, tokenizer)
                _write(fresh / RECORD, msgspec.json.format(msgspec.json.encode(model)))
                _flush(fresh)
                _put(fresh, folder / model.name)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
            if current(folder) is None:
                _mark(folder, model.name)


def _put(fresh: Path, place: Path) -> None:
    """Renames the folder into its place; POSIX cannot rename over a folder that holds files."""
    if place.exists():
        old = place.with_name(f"{_REPLACED}{uuid.uuid4().hex}-{place.name}")
        place.rename(old)
        fresh.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    else:
        fresh.rename(place)
    _flush(place.parent)


def _sweep(folder: Path) -> None:
    """Clears the leftovers of interrupted installations; a model that was taken away but not replaced comes back."""
    for entry in folder.iterdir():
        if entry.name.startswith(_REPLACED):
            place = folder / entry.name.removeprefix(_REPLACED).partition("-")[2]
            if not place.exists():
                entry.rename(place)
                continue
        if entry.name.startswith((_UNFINISHED, _REPLACED)):
            shutil.rmtree(entry, ignore_errors=True)


def _mark(folder: Path, name: str) -> None:
    fresh = folder / f"{_UNFINISHED}{_CURRENT}"
    fresh.unlink(missing_ok=True)
    _write(fresh, name.encode())
    fresh.replace(folder / _CURRENT)
    _flush(folder)


def _read(folder: Path) -> Model | None:
    """The model in the folder, if it is whole."""
    try:
        model = _MODEL.decode((folder / RECORD).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    whole = model.name == folder.name and (folder / GRAPH).is_file() and (folder / TOKENIZER).is_file()
    return model if whole else None


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time changes the folder; the lock ends with the process."""
    with (folder / _LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _reported(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"The model cannot be written to {folder}: {error.strerror}.",
            "Free some space or change the owner of the folder, then repeat the command.",
        ) from error
