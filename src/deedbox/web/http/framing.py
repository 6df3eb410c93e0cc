"""Which sites may show a signer's pages in a frame: those the workspace names, and only behind an embedded link."""

from deedbox.accounts import workspace_profile
from deedbox.kernel.db import Tx
from deedbox.signing import sessions
from deedbox.signing.store import people
from deedbox.signing.store.links import Link, LinkKind


def sites(tx: Tx, link: LinkKind, workspace_id: str) -> list[str]:
    """The sites that may show what such a link leads to: none, unless it was made to be embedded."""
    return workspace_profile.profile(tx, workspace_id).embed_sites if link == "embedded" else []


def sites_of_link(tx: Tx, link: Link) -> list[str]:
    """The same for a link, whether or not it still opens."""
    place = people.place_of(tx, link.signer_id) if link.kind == "embedded" else None
    return sites(tx, link.kind, place[0]) if place else []


def sites_of_session(tx: Tx, token: str) -> list[str]:
    """The same for the session of a cookie, also of one that is over, as long as it is known whose it was."""
    link = sessions.link_of(tx, token)
    return sites_of_link(tx, link) if link else []
