"""The archive of an installation: its key, its target, and the files, sandboxes and time-stamps it works with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deedbox.archive import targets
from deedbox.archive.package import ManifestKey
from deedbox.archive.records import Authority, Records
from deedbox.archive.targets import ArchiveTarget
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings
from deedbox.pdf.pdf_sandbox import PdfSandbox

if TYPE_CHECKING:
    from deedbox.kernel.egress import Egress


@dataclass(kw_only=True)
class ArchiveService:
    db: Database
    blobs: Blobs
    clock: Clock
    settings: Settings
    workshop: PdfSandbox
    records: Records
    authority: Authority
    egress: "Callable[[], Egress]"

    def __post_init__(self) -> None:
        secret = self.settings.service_ecosystem_key
        self.key = ManifestKey(secret) if secret is not None else None
        """None: nothing is archived, and nothing fails for that."""
        self._target: ArchiveTarget | None = None

    @property
    def folder(self) -> Path:
        """The folder on whose disk packages are made and checked."""
        return self.settings.data_dir

    @property
    def target(self) -> ArchiveTarget:
        """Where packages are pushed to; made when it is first needed, SetupError without the key."""
        secret = self.settings.service_ecosystem_key
        if secret is None:
            raise SetupError("There is no archive without its key.", "Set SERVICE_ECOSYSTEM_KEY.")
        if self._target is None:
            self._target = targets.chosen(self.settings, secret, self.egress, self.clock)
        return self._target

    async def close(self) -> None:
        if self._target is not None:
            await self._target.close()
