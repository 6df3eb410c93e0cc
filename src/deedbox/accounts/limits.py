"""Bounds of `deedbox.accounts`, by name; those that several packages share are in `kernel.limits`."""

# keys, people, sessions
EMBED_SITES = 20
EMBED_SITE_CHARS = 270
SESSIONS_SHOWN = 100
MEMBERS_PER_WORKSPACE = 1000
"""With those who are invited."""
WORKSPACES_SHOWN = 200
PASSKEYS_PER_PERSON = 20
