"""Bounds of `deedbox.cli`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import MB

# keys, people, sessions
COMMAND_KEY_HOURS = 24  # of the key that a command makes for itself
FOLLOWING_KEY_HOURS = 14 * 24  # of one that follows a bulk send to its end

# database
SWITCH_SECONDS = 0.0005
"""After so long a thread that computes lets another. Python's own five milliseconds are added to a request each time
that it comes back from a thread, while rows are sent in another."""

# egress
DOCTOR_SECONDS = 5
"""So long `deedbox doctor` waits for the public address."""

# server
LISTEN_BACKLOG = 2048

# doctor
DISK_FREE_BYTES = 500 * MB
LOST_FILES_NAMED = 3

# search
FOLDER_LOOK_SECONDS = 2
BUCKET_LOOK_SECONDS = 30
"""Between two looks at a prefix that is watched: each of them is a request for a thousand objects, which may cost."""
FOLDER_TOLD = 50
"""Files that are named after the work; --json names all."""
DOCTOR_CHAT_SECONDS = 30
DOCTOR_CHAT_TOKENS = 16

# webhooks
HOOK_LISTEN_BODY_BYTES = 1 * MB
HOOK_LISTEN_CONNECTIONS = 64
HOOK_LISTEN_DELIVERIES = 1_000_000

# archive
ARCHIVE_WAIT_SECONDS = 60
"""A command that waits for a server to push gives up when nothing has come for so long."""

# demo
DEMO_DELIVERIES = 100
"""That the demo's page shows, the newest."""
DEMO_WAIT_SECONDS = 0.2
DEMO_WAITS = 150
"""For the sealed sample: so often, so long."""
DEMO_QUESTION_CHARS = 500
