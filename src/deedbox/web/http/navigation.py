"""The parts of Deedbox, as the bar beside every page names them, and which of them someone can go to."""

from typing import Any, NamedTuple

from deedbox.web.http.context import Context


class NavigationPart(NamedTuple):
    """A part of Deedbox, as the bar beside every page names it."""

    name: str
    """Its word, and what a template says it is `at`."""
    path: str
    icon: str
    scope: str


PARTS = (
    NavigationPart("documents", "/app/documents", "file", "documents:read"),
    NavigationPart("templates", "/app/templates", "copy", "documents:read"),
    NavigationPart("packets", "/app/packets", "packet", "documents:read"),
    NavigationPart("bulk", "/app/bulk", "people", "documents:read"),
    NavigationPart("search", "/app/search", "search", "search:query"),
    NavigationPart("library", "/app/library", "book", "search:read"),
    NavigationPart("mail", "/app/mail", "mail", "documents:send"),
    NavigationPart("usage", "/app/usage", "chart", "workspace:read"),
    NavigationPart("settings", "/app/settings", "gear", "workspace:write"),
)


SETTINGS = (
    NavigationPart("keys", "/app/settings/keys", "key", "keys:write"),
    NavigationPart("hooks", "/app/settings/hooks", "hook", "hooks:write"),
    NavigationPart("members", "/app/settings/members", "people", "workspace:write"),
    NavigationPart("branding", "/app/settings/branding", "pen", "workspace:write"),
    NavigationPart("sending", "/app/settings/mail", "mail", "workspace:write"),
    NavigationPart("archive", "/app/settings/archive", "packet", "workspace:write"),
    NavigationPart("certificates", "/app/settings/certificates", "seal", "workspace:write"),
    NavigationPart("limits", "/app/settings/limits", "chart", "workspace:write"),
    NavigationPart("audit", "/app/settings/audit", "clock", "workspace:write"),
)


def bar(here: Context) -> dict[str, Any]:
    """What the frame of a page shows to whoever is signed in."""
    may = here.caller.may
    return {
        "person": here.person,
        "may": may,
        "parts": [part for part in PARTS if may(part.scope)],
        "settings": [part for part in SETTINGS if may(part.scope)],
    }


def bar_beside_refusal(here: Context, path: str) -> dict[str, Any]:
    """The same beside what cannot be shown, with the part to go back to; nothing where nobody is known."""
    if not here.knows_person:
        return {"person": None, "back": None}
    shown = bar(here)
    first = next(iter(shown["parts"]), None)
    back = next((part for part in shown["parts"] if f"{path}/".startswith(f"{part.path}/")), first)
    return {**shown, "back": back, "address": ""}
