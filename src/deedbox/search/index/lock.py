"""The lock of an index's folder: whoever holds it writes the index, everyone else reads it.

It goes with the process that holds it, however that ends."""

import fcntl
import os
import shutil
from pathlib import Path

_LOCK = "lock"


def take(folder: Path) -> int | None:
    """An open file, which is the lock until it is closed; None while another has it, here or in another process."""
    while True:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except (FileExistsError, FileNotFoundError):  # the folder was there, and was discarded just now
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        if _is_at(file, folder / _LOCK):
            return file
        os.close(file)  # of a folder that was discarded since


def discard(folder: Path) -> bool:
    """Whether the folder is gone, with everything in it: not while another has the lock."""
    if not folder.exists():
        return True
    held = take(folder)
    if held is None:
        return False
    try:
        remove(folder)
    finally:
        os.close(held)
    return True


def remove(folder: Path) -> None:
    """Removes the folder, whose lock the caller has."""
    gone = folder.with_name(f"{folder.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    # In one step: whoever comes now finds no folder, and never half of one.
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def discard_older(folder: Path) -> None:
    """Discards indexes of the same recipe whose files have an older format, unless an older version has them open."""
    recipe, _, number = folder.name.partition("-")
    for other in folder.parent.glob(f"{recipe}*"):
        older = other.name.removeprefix(recipe).removeprefix("-") or "0"
        if older.isdecimal() and number.isdecimal() and int(older) < int(number):
            discard(other)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
