"""The default model, and what reads scans, installed once for all tests into `.cache/models`."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deedbox.search.embed import models
from deedbox.search.ocr import model as ocr_model
from tests.server import environment

MODELS = Path(__file__).parent.parent / ".cache" / "models"


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder in which the default model is installed and in use."""
    _need("the embedding model", lambda: models.current(MODELS) is not None)
    return MODELS


@pytest.fixture(scope="session")
def ocr_dir() -> Path:
    """The folder in which the models that read scans are installed."""
    _need("OCR", lambda: ocr_model.is_present(MODELS), models.OCR)
    return MODELS


def _need(what: str, is_there: Callable[[], bool], *names: str) -> None:
    """Installs it if it is not there; without it, tests that need it are skipped, but not in CI."""
    MODELS.parent.mkdir(exist_ok=True)
    with (MODELS.parent / "models.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if is_there():
            return
        command = [sys.executable, "-m", "deedbox", "model", "install", "--if-missing", *names]
        env = environment(DEEDBOX_MODELS_DIR=str(MODELS))
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            assert not os.environ.get("CI"), f"{what} is missing: {done.stderr}"
            pytest.skip(f"{what} is missing: {done.stderr}")
