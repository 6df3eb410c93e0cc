"""The target of an outgoing request: its URL, taken apart by the one parser that both judging and dialling use."""

import re
from functools import lru_cache

import httpcore
import httpx
from msgspec import Struct

from deedbox.kernel.addresses import literal
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import EGRESS_HOST_CHARS, EGRESS_TARGETS, EGRESS_URL_CHARS

PORTS = {"http": 80, "https": 443}
_USER_INFO = re.compile(r"[^/?#]*//[^/?#]*@")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")


class EgressTarget(Struct, frozen=True):
    """The parts of an http(s) URL."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def core_url(self) -> httpcore.URL:
        return httpcore.URL(
            scheme=self.scheme.encode(), host=self.host.encode(), port=self.port, target=self.path.encode()
        )


@lru_cache(EGRESS_TARGETS)
def parse_target(url: str) -> EgressTarget:
    """The parts of a URL that may be called, or BadRequest with the reason why not."""
    if len(url) > EGRESS_URL_CHARS:
        raise BadRequest(f"The URL is longer than {EGRESS_URL_CHARS} characters")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise BadRequest("The URL is not valid; give one such as https://example.com/hooks") from error
    if parsed.scheme not in PORTS:
        raise BadRequest("The URL must begin with http:// or https://")
    if _USER_INFO.match(url):
        raise BadRequest("The URL must not carry a user name or password")
    port = parsed.port if parsed.port is not None else PORTS[parsed.scheme]
    if not 0 < port < 65536:
        raise BadRequest("The port of the URL must be between 1 and 65535")
    host = _dialled_host(parsed.raw_host.decode("ascii"))
    return EgressTarget(scheme=parsed.scheme, host=host, port=port, path=parsed.raw_path.decode("ascii"))


def _dialled_host(host: str) -> str:
    """The host as it is judged, dialled and named in the request; an address in its canonical spelling."""
    if not host:
        raise BadRequest("The URL has no host")
    try:
        address = literal(host)
    except ValueError as error:
        raise BadRequest(f"The host {host} of the URL is neither a name nor an address") from error
    if address is not None:
        return str(address)
    if len(host) > EGRESS_HOST_CHARS or not _HOST.fullmatch(host):
        raise BadRequest("The host of the URL is not a valid name")
    return host
