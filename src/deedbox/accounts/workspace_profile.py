"""What a workspace tells of itself to those who get its documents: its name, who sends, and where replies go."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.accounts import store
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.mailbox import Mailbox, checked_address, one_line
from deedbox.pdf.glyphs import need_printable


class WorkspaceProfile(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """The workspace's id."""
    object: Literal["workspace"] = "workspace"
    name: str
    """The company in whose name documents are sent."""
    sender_name: str | None
    """Who asks people to sign; null: the company itself."""
    sender_email: str | None
    """Where replies and the sender's notices go."""
    notices: bool
    """Whether the sender gets a mail when a document is completed, declined or expired."""


class WorkspaceChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is given is changed; the rest stays."""

    name: (
        Annotated[str, Meta(min_length=1, max_length=limits.WORKSPACE_NAME_CHARS, extra_json_schema=limits.NO_NUL)]
        | UnsetType
    ) = UNSET
    """The company in whose name documents are sent."""
    sender_name: (
        Annotated[str, Meta(min_length=1, max_length=limits.PERSON_NAME_CHARS, extra_json_schema=limits.NO_NUL)]
        | UnsetType
        | None
    ) = UNSET
    """Who asks people to sign; null: the company itself."""
    sender_email: (
        Annotated[str, Meta(min_length=3, max_length=limits.EMAIL_CHARS, extra_json_schema=limits.NO_NUL)]
        | UnsetType
        | None
    ) = UNSET
    """Where replies and the sender's notices go; null: to the owner."""
    notices: bool | UnsetType = UNSET
    """Whether the sender gets a mail when a document is completed, declined or expired."""


def profile(tx: Tx, workspace_id: str) -> WorkspaceProfile:
    return _shown(_row(tx, workspace_id))


def change(tx: Tx, workspace_id: str, wanted: WorkspaceChange) -> WorkspaceProfile:
    """The workspace as it is from now on; documents that were sent keep the names they were sent under."""
    row = _row(tx, workspace_id)
    if wanted == WorkspaceChange():
        raise BadRequest("Nothing is to be changed")
    given = {name: value for name in wanted.__struct_fields__ if (value := getattr(wanted, name)) is not UNSET}
    for name, what in (("name", "The name of the workspace"), ("sender_name", "The sender's name")):
        if given.get(name) is not None:
            given[name] = _readable(what, given[name])
    if given.get("sender_email") is not None:
        given["sender_email"] = checked_address(given["sender_email"])
    changed = msgspec.structs.replace(row, **given)
    store.change_workspace(tx, changed)
    return _shown(changed)


def notices_to(tx: Tx, workspace_id: str) -> Mailbox | None:
    """Who hears how the workspace's documents end: its sender, else its owner; nobody if that is switched off."""
    row = _row(tx, workspace_id)
    if not row.notices:
        return None
    owner = store.owner(tx, workspace_id)
    address = row.sender_email or (owner[1] if owner else None)
    return Mailbox(address, row.sender_name or "") if address else None


def _row(tx: Tx, workspace_id: str) -> store.WorkspaceRow:
    row = store.workspace_row(tx, workspace_id)
    if row is None:
        raise NotFound("Workspace does not exist")
    return row


def _readable(what: str, text: str) -> str:
    """The name as mails, pages and certificates can show it; BadRequest for one that they cannot."""
    line = one_line(text)
    if not line:
        raise BadRequest(f"{what} must not be empty")
    need_printable(what, line)
    return line


def _shown(row: store.WorkspaceRow) -> WorkspaceProfile:
    return WorkspaceProfile(**msgspec.structs.asdict(row))
