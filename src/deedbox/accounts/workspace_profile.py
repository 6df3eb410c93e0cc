"""What a workspace tells of itself to those who get its documents: its name, its look, who sends, and who hears."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.accounts import limits, store
from deedbox.accounts.caller import Caller
from deedbox.kernel import accent as colours
from deedbox.kernel import admin_log
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.mailbox import Mailbox, checked_address, one_line
from deedbox.pdf.marks.glyphs import need_printable

_SITE = re.compile(
    r"https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?|http://(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?"
)
"""An origin that a header can name; without TLS only on the same machine, to try it out."""
_COLOUR = Meta(
    pattern="^#[0-9a-fA-F]{6}$", max_length=len("#1f5c4d"), extra={"words": "must be a colour such as #1f5c4d"}
)


_NAMES = {"name": "The name of the workspace", "sender_name": "The sender's name"}


class AccentShown(msgspec.Struct, frozen=True):
    """The accent as pages show it: darker or lighter where it could not be read on their paper."""

    light: str
    """On white paper."""
    dark: str
    """On dark paper."""
    darkened: bool
    """Whether it was too pale for white paper, and is darker there than it was given."""


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


class WorkspaceChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is given is changed; the rest stays."""

    name: (
        Annotated[
            str,
            Meta(min_length=1, max_length=shared_limits.WORKSPACE_NAME_CHARS, extra_json_schema=shared_limits.NO_NUL),
        ]
        | UnsetType
    ) = UNSET
    """The company in whose name documents are sent."""
    sender_name: (
        Annotated[
            str, Meta(min_length=1, max_length=shared_limits.PERSON_NAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
        ]
        | UnsetType
        | None
    ) = UNSET
    """Who asks people to sign; null: the company itself."""
    sender_email: (
        Annotated[str, Meta(min_length=3, max_length=shared_limits.EMAIL_CHARS, extra_json_schema=shared_limits.NO_NUL)]
        | UnsetType
        | None
    ) = UNSET
    """Where replies and the sender's notices go; null: to the owner."""
    notices: bool | UnsetType = UNSET
    """Whether the sender gets a mail when a document is completed, declined or expired."""
    accent: Annotated[str, _COLOUR] | UnsetType | None = UNSET
    """The workspace's colour, as `#1f5c4d`; null: that of Deedbox. Pages darken or lighten one that cannot be read."""
    embed_sites: (
        Annotated[
            list[Annotated[str, Meta(min_length=8, max_length=limits.EMBED_SITE_CHARS)]],
            Meta(max_length=limits.EMBED_SITES),
        ]
        | UnsetType
    ) = UNSET
    """The sites whose pages may show signing in a frame: scheme, host and port, such as `https://app.example.com`."""
    search_documents: bool | UnsetType = UNSET
    """Whether documents become searchable when they are completed. Those that are searchable stay so."""


def profile(tx: Tx, workspace_id: str) -> WorkspaceProfile:
    return _shown(row(tx, workspace_id))


def change(tx: Tx, caller: Caller, wanted: WorkspaceChange, *, now: datetime) -> WorkspaceProfile:
    """The workspace as it is from now on; documents that were sent keep the names they were sent under."""
    before = row(tx, caller.workspace_id)
    if wanted == WorkspaceChange():
        raise BadRequest("No changes were given")
    asked = {name: value for name in wanted.__struct_fields__ if (value := getattr(wanted, name)) is not UNSET}
    given = {name: check_value(name, value) for name, value in asked.items()}
    changed = msgspec.structs.replace(before, **given)
    store.change_workspace(tx, changed)
    if changed != before:
        admin_log.done(tx, caller, "workspace.changed", (changed.id, changed.name), at=now)
    return _shown(changed)


def check_value(name: str, value: Any) -> Any:
    """What is kept under this name of a change; BadRequest for what cannot be."""
    if value is None:
        return None
    if name in _NAMES:
        return _readable(_NAMES[name], value)
    if name == "sender_email":
        return checked_address(value)
    if name == "accent":
        return value.lower()
    return _sites(value) if name == "embed_sites" else value


def notices_to(tx: Tx, workspace_id: str) -> Mailbox | None:
    """Who hears how the workspace's documents end: its sender, else its owner; nobody if that is switched off."""
    told = row(tx, workspace_id)
    if not told.notices:
        return None
    owner = store.owner(tx, workspace_id)
    address = told.sender_email or (owner[1] if owner else None)
    return Mailbox(address, told.sender_name or "") if address else None


def row(tx: Tx, workspace_id: str) -> store.WorkspaceRow:
    found = store.workspace_row(tx, workspace_id)
    if found is None:
        raise NotFound("Workspace does not exist")
    return found


def _readable(what: str, text: str) -> str:
    """The name as mails, pages and certificates can show it; BadRequest for one that they cannot."""
    line = one_line(text)
    if not line:
        raise BadRequest(f"{what} must not be empty")
    need_printable(what, line)
    return line


def _sites(given: Sequence[str]) -> list[str]:
    """The sites, each once; BadRequest for what is no origin, which would open the frame to others."""
    sites = [site.lower().removesuffix("/") for site in given]
    for site in sites:
        if not _SITE.fullmatch(site):
            raise BadRequest(
                f"embed_sites: {site} is no site. Give scheme and host, such as https://app.example.com;"
                " http only for localhost"
            )
    return list(dict.fromkeys(sites))


def _accent_shown(accent: str) -> AccentShown:
    light, dark = colours.light(accent).accent, colours.dark(accent).accent
    return AccentShown(light, dark, darkened=light != accent)


def _shown(row: store.WorkspaceRow) -> WorkspaceProfile:
    return WorkspaceProfile(
        id=row.id,
        name=row.name,
        sender_name=row.sender_name,
        sender_email=row.sender_email,
        notices=row.notices,
        accent=row.accent,
        accent_shown=_accent_shown(row.accent) if row.accent else None,
        logo=logo_path(row.logo_sha256),
        embed_sites=row.embed_sites,
        search_documents=row.search_documents,
    )


def logo_path(sha256: str | None) -> str | None:
    """Where the logo is shown; its hash is in the path, so that browsers may keep it for ever."""
    return f"/brand/{sha256}.png" if sha256 else None
