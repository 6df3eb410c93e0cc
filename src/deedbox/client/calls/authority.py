# Written by scripts/client.py from the OpenAPI document: change it there.
"""Timestamps, certificates and revocation lists."""

from deedbox.client.call import Call, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download


class AuthorityCalls:
    """Timestamps, certificates and revocation lists."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def stamp_time(self, content: bytes) -> Download:
        """A timestamp (RFC 3161) from this server's clock."""
        return self._connection.download(Call("POST", "/tsa", body=content))

    def revocation_list(self, name: str) -> Download:
        """What an authority has revoked; `name` is `root`, `issuing` or an authority's id, and `.crl`."""
        return self._connection.download(Call("GET", f"/crl/{part(name)}", key=False))

    def certificate(self, name: str) -> Download:
        """An authority's certificate; `name` is `root`, `issuing` or an authority's id, and `.cer`."""
        return self._connection.download(Call("GET", f"/ca/{part(name)}", key=False))

    def root(self) -> Download:
        """The root certificate: what others have to trust."""
        return self._connection.download(Call("GET", "/ca.pem", key=False))


class AsyncAuthorityCalls:
    """Timestamps, certificates and revocation lists."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def stamp_time(self, content: bytes) -> AsyncDownload:
        """A timestamp (RFC 3161) from this server's clock."""
        return self._connection.download(Call("POST", "/tsa", body=content))

    def revocation_list(self, name: str) -> AsyncDownload:
        """What an authority has revoked; `name` is `root`, `issuing` or an authority's id, and `.crl`."""
        return self._connection.download(Call("GET", f"/crl/{part(name)}", key=False))

    def certificate(self, name: str) -> AsyncDownload:
        """An authority's certificate; `name` is `root`, `issuing` or an authority's id, and `.cer`."""
        return self._connection.download(Call("GET", f"/ca/{part(name)}", key=False))

    def root(self) -> AsyncDownload:
        """The root certificate: what others have to trust."""
        return self._connection.download(Call("GET", "/ca.pem", key=False))
