"""The default model, installed once for all tests into `.cache/models`."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deedbox.search.embed import models
from tests.server import environment

MODELS = Path(__file__).parent.parent / ".cache" / "models"


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder in which the default model is installed and in use."""
    MODELS.parent.mkdir(exist_ok=True)
    with (MODELS.parent / "models.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if models.current(MODELS) is None:
            command = [sys.executable, "-m", "deedbox", "model", "install", "--if-missing"]
            env = environment(DEEDBOX_MODELS_DIR=str(MODELS))
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
            if done.returncode != 0:
                assert not os.environ.get("CI"), f"the embedding model is missing: {done.stderr}"
                pytest.skip(f"the embedding model is missing: {done.stderr}")
    return MODELS
