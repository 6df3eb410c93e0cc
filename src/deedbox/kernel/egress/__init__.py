"""The only way out: every outgoing request goes through `Egress`, which dials only addresses it has judged.

`dialled` is for protocols other than HTTP. Both stand on httpcore, which has no redirects, cookies, proxies and netrc
to switch off.
"""

from deedbox.kernel.egress.client import Answer, Egress, Request
from deedbox.kernel.egress.failures import (
    AddressRefused,
    BadAnswer,
    CannotConnect,
    CannotResolve,
    EgressFailed,
    TookTooLong,
)
from deedbox.kernel.egress.network import ANYWHERE, Resolve, Wire, dialled, system_resolve
from deedbox.kernel.egress.target import Target, parse_target

__all__ = [
    "ANYWHERE",
    "AddressRefused",
    "Answer",
    "BadAnswer",
    "CannotConnect",
    "CannotResolve",
    "Egress",
    "EgressFailed",
    "Request",
    "Resolve",
    "Target",
    "TookTooLong",
    "Wire",
    "dialled",
    "parse_target",
    "system_resolve",
]
