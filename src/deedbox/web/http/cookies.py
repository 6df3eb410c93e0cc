"""The cookies: of a person who is signed in, and one of each signer, so that documents side by side never mix."""

from typing import Any, cast

from litestar.datastructures import Cookie

from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Settings
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.head import Scope

PERSON = "deedbox"


def of_signer(signer_id: str, *, in_frame: bool = False) -> str:
    # That of a frame is another: within one site a browser sends both, and each opens its own session.
    return f"deedbox_{'framed' if in_frame else 'signer'}_{signer_id}"


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


def sent_by(request: AnyRequest, cookie: str) -> str:
    """The same for a request that has come to its route."""
    return sent(cast(Scope, request.scope), context.of(request).deedbox.settings, cookie)


def create_cookie(
    request: AnyRequest, cookie: str, token: Secret | None, seconds: int, *, in_frame: bool = False
) -> Cookie:
    """The cookie that holds the token for so long, or, without a token, the one that removes it.

    One for a frame is sent there too, and nowhere but where this site is framed by the same other one."""
    https = _is_https(cast(Scope, request.scope), context.of(request).deedbox.settings)
    kind = _Partitioned if in_frame else Cookie
    return kind(
        key=_name(cookie, https),
        value=token.reveal() if token else "",
        max_age=seconds if token else 0,
        path="/",
        secure=https or in_frame,  # browsers take it from loopback without TLS too
        httponly=True,
        samesite="none" if in_frame else "lax",
    )


def asked_from_frame(scope: Scope) -> bool:
    """Whether the browser says that the answer is shown in a frame; it says so over TLS and on loopback only."""
    return any(name == b"sec-fetch-dest" and value in (b"iframe", b"frame") for name, value in scope["headers"])


class _Partitioned(Cookie):
    """With an attribute that Python's own cookies do not know yet."""

    def to_header(self, **kwargs: Any) -> str:
        return f"{super().to_header(**kwargs)}; Partitioned"


def _name(cookie: str, https: bool) -> str:
    # Browsers take the __Host- prefix over TLS only.
    return f"__Host-{cookie}" if https else cookie


def _is_https(scope: Scope, settings: Settings) -> bool:
    # What people reach by TLS stays so, whether or not the proxy that speaks it is believed.
    return scope["scheme"] == "https" or (settings.base_url or "").lower().startswith("https:")
