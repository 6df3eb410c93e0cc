"""The address of a mail server, as the setting writes it."""

from urllib.parse import unquote, urlsplit

import msgspec

from deedbox.kernel.crypto import Secret

PORTS = {"smtp": 587, "smtps": 465}


class MailServer(msgspec.Struct, frozen=True):
    """Where mail is handed in: `smtps` begins with TLS, `smtp` turns to it by STARTTLS."""

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: Secret | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def mail_server(url: Secret) -> MailServer:
    """The server that the URL names; ValueError, without any part of the URL in it, when it names none."""
    text = url.reveal()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("it is not an address") from None
    if parts.scheme not in PORTS:
        raise ValueError("it does not begin with smtp:// or smtps://")
    if not parts.hostname or not parts.hostname.isascii() or not text.isprintable() or " " in text:
        raise ValueError("it names no host")
    if port == 0 or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("something after the host is no port")
    user, password = parts.username or None, parts.password or None
    if (user is None) != (password is None):
        raise ValueError("user name and password belong together")
    return MailServer(
        parts.scheme,
        parts.hostname,
        port or PORTS[parts.scheme],
        user and unquote(user),
        Secret(unquote(password)) if password else None,
    )
