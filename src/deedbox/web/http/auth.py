"""Doors: who may call a route, declared once, on the route. The guard opens them before a byte of the body is read."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from litestar import Litestar
from litestar.exceptions import MethodNotAllowedException, NotFoundException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.utils import normalize_path

from deedbox.accounts.scopes import SCOPES
from deedbox.web import limits

OPTION = "door"
"""The `opt` under which a route keeps its door."""

Opener: TypeAlias = Literal["key", "person", "signer", "link", "nobody"]


class Requirement(msgspec.Struct, frozen=True):
    opener: Opener
    """Who is asked for: an API key, a login cookie, a signer's cookie, a signing link in the address, or nothing."""
    scope: str = ""
    """What the key, or the role of the person, must allow."""
    counted: bool = True
    own_site: bool = False
    """Whether a request that changes something must come from this site's own pages."""
    repeats: bool = False
    """Each request has an answer of its own, also with the same Idempotency-Key: nothing is kept."""
    own_budget: int = 0
    """How often a minute one address may come here, counted apart from all else that it does; 0: with it."""
    always_open: bool = False
    """Answered also while the server stops or has too much to do."""


PERSON = Requirement("person", own_site=True)
"""A page for people who are signed in; others are sent to the login page."""
SIGNER = Requirement("signer", own_site=True)
"""For the signer whom the address names, `{signer_id}`, with that signer's own cookie."""
LINK = Requirement("link", own_site=True)
"""For whoever has the signing link whose `{token}` is in the address; each link has a budget of its own."""
PUBLIC = Requirement("nobody")
"""Opens to everybody; callers are counted by address."""
LOGIN = Requirement("nobody", own_site=True)
"""As PUBLIC, for the forms that sign people in and out: those of another site are refused."""
CHECK = Requirement("nobody", own_site=True, own_budget=limits.VERIFY_PER_MINUTE)
"""As LOGIN, for the form that has a file verified, which costs more than other requests."""
LOGO = Requirement("nobody", own_budget=limits.LOGO_PER_MINUTE)
"""As PUBLIC, for a picture that every page of a workspace shows, and that is looked up."""
STATIC = Requirement("nobody", counted=False)
"""Files of the pages: never counted."""
PROBE = Requirement("nobody", counted=False, always_open=True)
"""Health, metrics and the API's description: never counted, and answered at any time."""

CREDENTIAL = "token"
"""How a route names the part of its path that opens something."""
_NAMED: dict[Opener, str] = {"signer": "{signer_id}", "link": f"{{{CREDENTIAL}}}"}
"""What the path of a route behind such a door must name."""

INSIDE = "/app/"
"""Where the pages of a workspace are: each says which scope the role must have."""

ANY_KEY = Requirement("key")
"""Opens to any key that works. Behind it also lies what is at no route's door: whoever has no key does not even learn
that nothing is there."""


def requires(wanted: Requirement | str) -> dict[str, Any]:
    """The `opt` of a route behind this door; a text names the scope that an API key must have."""
    if isinstance(wanted, str):
        if wanted not in SCOPES:
            raise ValueError(f"unknown scope {wanted}")
        wanted = Requirement("key", scope=wanted)
    return {OPTION: wanted}


def person(scope: str) -> dict[str, Any]:
    """The `opt` of a page for those who are signed in, and whose role has this scope."""
    if scope not in SCOPES:
        raise ValueError(f"unknown scope {scope}")
    return {OPTION: Requirement("person", scope=scope, own_site=True)}


def of(handler: BaseRouteHandler) -> Requirement:
    found: Requirement = handler.opt[OPTION]
    return found


def beside(doors: Iterable[Requirement]) -> Requirement:
    """The door for a method that a path does not have, and for OPTIONS: no opener is asked for but a key."""
    known = list(doors)
    if any(each.opener == "key" for each in known):
        return ANY_KEY
    return PUBLIC if any(each.counted for each in known) else known[0]


def list_routes(app: Litestar) -> list[tuple[str, HTTPRouteHandler]]:
    """Every path with its handlers; raises for one without a door."""
    found = []
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            raise TypeError(f"{route.path} is not an HTTP route")
        for handler in route.route_handlers:
            if not isinstance(handler.opt.get(OPTION), Requirement):
                raise TypeError(f"{handler.http_methods} {route.path} declares no door")
            if _NAMED.get(of(handler).opener, "") not in route.path_format:
                raise TypeError(f"{route.path} does not name whom its door opens to")
            if handler.http_methods != {"OPTIONS"}:
                _need_scope_inside(route.path_format, of(handler))
                found.append((route.path_format, handler))
    return found


def _need_scope_inside(path: str, declared_door: Requirement) -> None:
    if f"{path}/".startswith(INSIDE) and not (declared_door.opener == "person" and declared_door.scope):
        raise TypeError(f"{path} does not say which scope the role of its visitor must have")


class FoundKey(NamedTuple):
    door: Requirement
    template: str = ""
    """The route's path as it is declared; empty where there is no such route."""
    named: Mapping[str, Any] = {}
    """What the path names."""

    def logged(self, path: str) -> str:
        """The path as logs show it: without the token of a route whose path carries one."""
        return self.template if CREDENTIAL in self.named else path


class Authenticator:
    """Finds the door of a request, with the framework's own router: two that match paths might disagree."""

    def __init__(self, app: Litestar) -> None:
        known: dict[str, list[Requirement]] = {}
        for path, handler in list_routes(app):
            known.setdefault(_first(path), []).append(of(handler))
        self._keyless = {first for first, doors in known.items() if first and all(one.opener != "key" for one in doors)}
        """Where no key is asked for: whoever mistypes a signing link is not told of keys."""
        self._find = app.asgi_router.handle_routing

    def at(self, method: str, path: str) -> FoundKey:
        """The door that a request comes to."""
        path = normalize_path(path)
        try:
            _, handler, _, named, template = self._find(path=path, method=method)
            return FoundKey(of(handler), template, named)
        except MethodNotAllowedException:
            return FoundKey(of(self._find(path=path, method="OPTIONS")[1]))
        except NotFoundException:
            return FoundKey(PUBLIC if _first(path) in self._keyless else ANY_KEY)


def _first(path: str) -> str:
    return path.strip("/").partition("/")[0]
