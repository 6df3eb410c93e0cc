# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `workspace`."""

from msgspec import Struct


class Member(Struct, frozen=True, kw_only=True):
    id: str
    """The person's id, or the invitation's."""
    status: str
    """`member`, or `invited` until someone has joined by the invitation's link."""
    name: str | None
    """What the person is called; null while invited."""
    email: str | None
    """The person's address, or the one that the invitation was mailed to."""
    role: str
    """What the person may do: an owner everything, a sender all of documents and search, a viewer read and
    ask."""
    since: str
    """When they joined, or were invited."""
    expires_at: str | None
    """When the invitation ends; null for a member."""


class MemberPage(Struct, frozen=True, kw_only=True):
    members: list[Member]
    """The members of this page, the newest first; after the last member come the open invitations."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class MadeInvitation(Struct, frozen=True, kw_only=True):
    id: str
    """The person's id, or the invitation's."""
    status: str
    """`member`, or `invited` until someone has joined by the invitation's link."""
    name: str | None
    """What the person is called; null while invited."""
    email: str | None
    """The person's address, or the one that the invitation was mailed to."""
    role: str
    """What the person may do: an owner everything, a sender all of documents and search, a viewer read and
    ask."""
    since: str
    """When they joined, or were invited."""
    expires_at: str | None
    """When the invitation ends; null for a member."""
    link: str | None
    """By which one person joins, once. It is shown only here; null in the answer to a repeated
    Idempotency-Key."""
    mailed: bool
    """Whether the link was mailed too: the server has a mail server, and an address was given."""


class AccentShown(Struct, frozen=True, kw_only=True):
    """The accent as pages show it: darker or lighter where it could not be read on their paper."""

    light: str
    """On white paper."""
    dark: str
    """On dark paper."""
    darkened: bool
    """Whether it was too pale for white paper, and is darker there than it was given."""


class WorkspaceProfile(Struct, frozen=True, kw_only=True):
    id: str
    """The workspace's id."""
    object: str = "workspace"
    """Always `workspace`."""
    name: str
    """The company in whose name documents are sent."""
    sender_name: str | None
    """Who asks people to sign; null: the company itself."""
    sender_email: str | None
    """Where replies and the sender's notices go."""
    notices: bool
    """Whether the sender gets a mail when a document is completed, declined or expired."""
    accent: str | None
    """The workspace's colour on signing pages and in mails, as `#1f5c4d`; null: that of Deedbox."""
    accent_shown: AccentShown | None
    """How pages show the accent; null without one."""
    logo: str | None
    """The path of the logo on this server; null without one."""
    embed_sites: list[str]
    """The sites whose pages may show signing in a frame, such as `https://app.example.com`."""
    search_documents: bool
    """Whether documents become searchable when they are completed."""


class Act(Struct, frozen=True, kw_only=True):
    """One change of the workspace."""

    id: str
    """The change's id."""
    act: str
    """What was done, such as `key.created`."""
    by_id: str
    """The key or person that did it; `operator`: the command line of the server."""
    by_name: str
    """What that key or person was called then."""
    subject_id: str
    """What it was done to."""
    subject_name: str
    """What that was called then."""
    at: str
    """When."""


class ChangePage(Struct, frozen=True, kw_only=True):
    changes: list[Act]
    """The changes of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class UsageSlot(Struct, frozen=True, kw_only=True):
    """One day or month, in UTC."""

    slot: str
    """The day, as `2026-03-01`, or the month, as `2026-03`."""
    sent: int
    """Documents that were sent."""
    completed: int
    """Documents that were completed."""
    sign_seconds: int | None
    """The median time from sending to completion, of those completed; null without any."""
    queries: int
    """Search queries that were answered."""
    query_ms: int | None
    """95 of 100 queries were answered within so many milliseconds, or a little less; null without any."""
    document_bytes: int | None
    """Bytes of the files of documents, packets and templates when they were last measured; null if never."""
    library_bytes: int | None
    """Bytes of the files to search, and of their texts, when they were last measured; null if never."""


class WorkspaceUsage(Struct, frozen=True, kw_only=True):
    """Each number of the whole time, and day by day or month by month."""

    by: str
    """Whether a slot is a day or a month."""
    sent: int
    """Documents that were sent."""
    completed: int
    """Documents that were completed."""
    sign_seconds: int | None
    """The median time from sending to completion; null without any."""
    queries: int
    """Search queries that were answered."""
    query_ms: int | None
    """95 of 100 queries were answered within so many milliseconds, or a little less; null without any."""
    storage_bytes: int | None
    """Bytes of all files when they were last measured, once an hour; null if never."""
    measured_at: str | None
    """When that was; null if never."""
    slots: list[UsageSlot]
    """The days or months, the oldest first; the last is not over yet."""
