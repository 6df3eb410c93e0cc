"""One file that holds an installation: the database, the stored files, the master key and the settings file."""

from deedbox.kernel.backup.archive import Manifest, Progress
from deedbox.kernel.backup.restore import restore
from deedbox.kernel.backup.save import backup

__all__ = ["Manifest", "Progress", "backup", "restore"]
