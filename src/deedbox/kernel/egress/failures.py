"""Failures of an outgoing connection, each with a sentence for the user who chose the address."""

import contextlib
from collections.abc import Iterator
from typing import ClassVar

import httpcore

from deedbox.kernel.errors import ServiceError


class EgressFailed(ServiceError):
    """An outgoing request got no answer; the message may be shown to the user who chose the URL."""

    reason: ClassVar[str] = "failed"


class AddressRefused(EgressFailed):
    reason = "refused"


class CannotResolve(EgressFailed):
    reason = "resolve"


class CannotConnect(EgressFailed):
    reason = "connect"


class TookTooLong(EgressFailed):
    reason = "timeout"


class BadAnswer(EgressFailed):
    reason = "protocol"


@contextlib.contextmanager
def named_failures(host: str, seconds: float) -> Iterator[None]:
    """Turns what the network and the protocol raise into EgressFailed, with a sentence for the user."""
    try:
        yield
    except httpcore.ConnectTimeout as error:
        raise TookTooLong(f"The host {host} did not accept a connection in time") from error
    except (TimeoutError, httpcore.TimeoutException) as error:
        raise TookTooLong(f"The host {host} did not answer within {seconds:g} seconds") from error
    except httpcore.ConnectError as error:
        raise CannotConnect(f"The host {host} failed the TLS handshake: {error}") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise BadAnswer(f"The host {host} broke off or did not keep to the protocol") from error
