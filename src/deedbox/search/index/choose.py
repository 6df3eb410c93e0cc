"""The setting `index` chooses where indexes are kept."""

from typing import cast

from deedbox.kernel.db import Database
from deedbox.kernel.settings import Settings
from deedbox.search.index import Indexes
from deedbox.search.index.folders import IndexFolders


def open_indexes(settings: Settings, db: Database) -> Indexes:
    """The indexes of an installation; SetupError where the database cannot keep them."""
    if settings.index == "local" or settings.database_url is None:
        return IndexFolders(settings.data_dir / "index")
    # Imported here: in the data folder it is never needed.
    from deedbox.kernel.db.postgres import PostgresDatabase
    from deedbox.search.index.postgres.indexes import PostgresIndexes

    return PostgresIndexes(cast(PostgresDatabase, db), settings.database_url.reveal())
