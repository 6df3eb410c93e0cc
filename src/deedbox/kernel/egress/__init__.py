"""The only way out: every outgoing request goes through `Egress`, which dials only addresses it has judged.

`dialled` is for protocols other than HTTP. Both stand on httpcore, which has no redirects, cookies, proxies and netrc
to switch off.
"""

from deedbox.kernel.egress.client import Egress, EgressResponse, Request
from deedbox.kernel.egress.failures import (
    AddressRefused,
    BadAnswer,
    CannotConnect,
    CannotResolve,
    EgressFailed,
    TookTooLong,
)
from deedbox.kernel.egress.network import ANYWHERE, Resolve, Wire, dial, system_resolve
from deedbox.kernel.egress.target import EgressTarget, parse_target

__all__ = [
    "ANYWHERE",
    "AddressRefused",
    "BadAnswer",
    "CannotConnect",
    "CannotResolve",
    "Egress",
    "EgressFailed",
    "EgressResponse",
    "EgressTarget",
    "Request",
    "Resolve",
    "TookTooLong",
    "Wire",
    "dial",
    "parse_target",
    "system_resolve",
]
