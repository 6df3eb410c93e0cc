"""The two cookies: of a person who is signed in, and of a signer."""

from typing import Literal, TypeAlias, cast

from litestar.datastructures import Cookie

from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Settings
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.head import Scope

Holder: TypeAlias = Literal["person", "signer"]
_NAMES: dict[Holder, str] = {"person": "deedbox", "signer": "deedbox_signer"}


def sent(scope: Scope, settings: Settings, holder: Holder) -> str:
    """The value that the request carries; empty without one."""
    wanted, found = _name(holder, _is_https(scope, settings)).encode(), b""
    for header, value in scope["headers"]:
        if header == b"cookie":
            for pair in value.split(b";"):
                name, _, content = pair.partition(b"=")
                if name.strip() == wanted:
                    found = content.strip()
    return found.decode("latin-1")


def made(request: AnyRequest, holder: Holder, token: Secret | None, seconds: int) -> Cookie:
    """The cookie that holds the token for so long, or, without a token, the one that removes it."""
    https = _is_https(cast(Scope, request.scope), context.of(request).deedbox.settings)
    return Cookie(
        key=_name(holder, https),
        value=token.reveal() if token else "",
        max_age=seconds if token else 0,
        path="/",
        secure=https,
        httponly=True,
        samesite="lax",
    )


def _name(holder: Holder, https: bool) -> str:
    # Browsers take the __Host- prefix over TLS only.
    return f"__Host-{_NAMES[holder]}" if https else _NAMES[holder]


def _is_https(scope: Scope, settings: Settings) -> bool:
    # What people reach by TLS stays so, whether or not the proxy that speaks it is believed.
    return scope["scheme"] == "https" or (settings.base_url or "").lower().startswith("https:")
