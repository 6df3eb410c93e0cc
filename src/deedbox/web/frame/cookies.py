"""The cookies: of a person who is signed in, and one of each signer, so that documents side by side never mix."""

from typing import cast

from litestar.datastructures import Cookie

from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Settings
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.head import Scope

PERSON = "deedbox"


def of_signer(signer_id: str) -> str:
    return f"deedbox_signer_{signer_id}"


def sent(scope: Scope, settings: Settings, cookie: str) -> str:
    """The value that the request carries under this name; empty without one."""
    wanted, found = _name(cookie, _is_https(scope, settings)).encode(), b""
    for header, value in scope["headers"]:
        if header == b"cookie":
            for pair in value.split(b";"):
                name, _, content = pair.partition(b"=")
                if name.strip() == wanted:
                    found = content.strip()
    return found.decode("latin-1")


def made(request: AnyRequest, cookie: str, token: Secret | None, seconds: int) -> Cookie:
    """The cookie that holds the token for so long, or, without a token, the one that removes it."""
    https = _is_https(cast(Scope, request.scope), context.of(request).deedbox.settings)
    return Cookie(
        key=_name(cookie, https),
        value=token.reveal() if token else "",
        max_age=seconds if token else 0,
        path="/",
        secure=https,
        httponly=True,
        samesite="lax",
    )


def _name(cookie: str, https: bool) -> str:
    # Browsers take the __Host- prefix over TLS only.
    return f"__Host-{cookie}" if https else cookie


def _is_https(scope: Scope, settings: Settings) -> bool:
    # What people reach by TLS stays so, whether or not the proxy that speaks it is believed.
    return scope["scheme"] == "https" or (settings.base_url or "").lower().startswith("https:")
