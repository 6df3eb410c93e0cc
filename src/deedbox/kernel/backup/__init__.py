"""One file that holds an installation: every row, the stored files, the master key and the settings file.

It belongs to no kind of database and no kind of store, and goes into any."""

from deedbox.kernel.backup.archive import BackupManifest, Progress
from deedbox.kernel.backup.restore import restore
from deedbox.kernel.backup.save import backup

__all__ = ["BackupManifest", "Progress", "backup", "restore"]
