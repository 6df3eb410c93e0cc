"""Opens the folder or the bucket that the settings name for files."""

from typing import TYPE_CHECKING

from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.s3.place import place
from deedbox.kernel.settings import Settings

if TYPE_CHECKING:
    from deedbox.kernel.s3.bucket import Bucket


def open_blobs(settings: Settings) -> Blobs:
    """The blobs of the installation: in its data folder, or in the bucket."""
    bucket = chosen_bucket(settings)
    if bucket is None:
        return LocalBlobs(settings.data_dir / "blobs")
    from deedbox.kernel.blobs.s3 import S3Blobs

    return S3Blobs(bucket)


def chosen_bucket(settings: Settings) -> "Bucket | None":
    """The bucket in which files lie; None when it is the data folder. Nothing is asked of it yet."""
    if settings.blobs_url is None:
        return None
    from deedbox.kernel.s3.bucket import Bucket

    return Bucket(place(settings.blobs_url), settings.s3)
