"""Signing in a frame of another site: which sites may show it, and what its page tells them."""

from typing import TYPE_CHECKING, Any

from deedbox.accounts import workspace_profile
from deedbox.kernel.db import Tx
from deedbox.signing import sessions
from deedbox.signing.store import people
from deedbox.signing.store.links import LinkKind

if TYPE_CHECKING:
    from deedbox.web.signer.inside import Inside


def sites(tx: Tx, link: LinkKind, workspace_id: str) -> list[str]:
    """The sites that may show what such a link leads to: none, unless it was made to be embedded."""
    return workspace_profile.profile(tx, workspace_id).embed_sites if link == "embedded" else []


def sites_of_link(tx: Tx, token: str) -> list[str]:
    """The same for a link by its token, whether or not it still opens."""
    link = sessions.link(tx, token)
    place = people.place_of(tx, link.signer_id)
    return sites(tx, link.kind, place[0]) if place else []


def shown(who: "Inside") -> dict[str, Any]:
    """What a page is given so that it can stand in a frame, and tell the page around it where the signer stands."""
    return {"frames": who.sites, "told": _told(who)}


def _told(who: "Inside") -> str:
    if who.needs:
        return ""
    if who.signer.status in ("signed", "declined"):
        return who.signer.status
    return "opened" if who.is_shown else "over"
