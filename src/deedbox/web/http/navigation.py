"""The parts of Deedbox, as the bar beside every page names them, and which of them someone can go to."""

from typing import Any, NamedTuple

from deedbox.web.http.context import Context


class Part(NamedTuple):
    """A part of Deedbox, as the bar beside every page names it."""

    name: str
    """Its word, and what a template says it is `at`."""
    path: str
    icon: str
    scope: str


PARTS = (
    Part("documents", "/app/documents", "file", "documents:read"),
    Part("templates", "/app/templates", "copy", "documents:read"),
    Part("packets", "/app/packets", "packet", "documents:read"),
    Part("bulk", "/app/bulk", "people", "documents:read"),
    Part("search", "/app/search", "search", "search:query"),
    Part("library", "/app/library", "book", "search:read"),
    Part("mail", "/app/mail", "mail", "documents:send"),
    Part("usage", "/app/usage", "chart", "workspace:read"),
    Part("settings", "/app/settings", "gear", "workspace:write"),
)


SETTINGS = (
    Part("keys", "/app/settings/keys", "key", "keys:write"),
    Part("hooks", "/app/settings/hooks", "hook", "hooks:write"),
    Part("members", "/app/settings/members", "people", "workspace:write"),
    Part("branding", "/app/settings/branding", "pen", "workspace:write"),
    Part("sending", "/app/settings/mail", "mail", "workspace:write"),
    Part("archive", "/app/settings/archive", "packet", "workspace:write"),
    Part("certificates", "/app/settings/certificates", "seal", "workspace:write"),
    Part("limits", "/app/settings/limits", "chart", "workspace:write"),
    Part("audit", "/app/settings/audit", "clock", "workspace:write"),
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
