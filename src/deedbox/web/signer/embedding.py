"""Signing in a frame of another site: what its page tells the page around it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deedbox.web.signer.inside import Inside


def shown(who: "Inside") -> dict[str, Any]:
    """What a page is given so that it can stand in a frame, and tell the page around it where the signer stands."""
    return {"frames": who.sites, "told": _told(who)}


def _told(who: "Inside") -> str:
    if who.needs:
        return ""
    if who.signer.status in ("signed", "declined"):
        return who.signer.status
    return "opened" if who.is_shown else "over"
