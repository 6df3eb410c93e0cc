"""Bounds of `deedbox.archive`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import KB, MB

# keys, people, sessions
ARCHIVE_SHOWN = 10
"""The newest receipts, and as many of those that wait, on the page of the archive."""

# archive
ARCHIVE_ENTRIES = 64
ARCHIVE_NAME_CHARS = 255
ARCHIVE_PACKAGE_BYTES = 4096 * MB
ARCHIVE_TAG_BYTES = 64 * KB
ARCHIVE_JSON_BYTES = 256 * KB
ARCHIVE_CRASHES = 10_000
"""Processes that may die while they push one package before a person has to look."""
ARCHIVE_CONNECTIONS = 16
"""To an archive over HTTPS, for pushes, and as many for what is read from it."""
ARCHIVE_FETCHES = 8
"""Packages that callers fetch from the archive at a time; it is also read by who checks or pushes."""
ARCHIVE_ANSWER_BYTES = 64 * KB
ARCHIVE_ANSWER_CHARS = 2000
ARCHIVE_ERROR_CHARS = 500
ARCHIVE_BATCH = 200
ARCHIVE_TREE_LEAVES = 1000
ARCHIVE_ROUND_SECONDS = 600
"""After midnight, when the root over the day before is made."""
ARCHIVE_ROOT_RETRY_SECONDS = 6 * 3600
ARCHIVE_TIMESTAMP_DAYS = 7
"""So long after its day a root waits for the configured time-stamp authority; then the installation stamps it."""
ARCHIVE_FAILURES_SHOWN = 20
ARCHIVE_KEYLESS_SECONDS = 600
"""A push or round that a process without the archive's key comes upon is put back for so long."""
