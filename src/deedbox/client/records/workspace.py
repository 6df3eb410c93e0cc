# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `workspace`."""

from msgspec import Struct


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
