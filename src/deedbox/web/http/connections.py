"""How many connections each address holds: none so many that others find no place."""

import functools
import ipaddress
import resource
from collections import Counter

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings
from deedbox.web import limits
from deedbox.web.http.identity import neighbourhood

_MANY = "many"
"""Where connections of trusted proxies are kept: each carries the requests of many addresses."""


class Connections:
    def __init__(self, settings: Settings) -> None:
        self.open = 0
        self._most = min(shared_limits.CONNECTIONS, _descriptors() - shared_limits.DESCRIPTORS_KEPT)
        if self._most < limits.CONNECTIONS_MIN:
            least = limits.CONNECTIONS_MIN + shared_limits.DESCRIPTORS_KEPT
            raise SetupError(
                f"This process may have too few files and connections open: fewer than {least}.",
                f"Raise the limit before the start: ulimit -n {least}",
            )
        self._per_address = settings.connections_per_address
        self._proxies = settings.trusted_proxies
        self._of: Counter[str] = Counter()
        self._holder = functools.lru_cache(maxsize=limits.ADDRESSES_KNOWN)(self._find_holder)

    def enter(self, peer: str) -> str | None:
        """Whom a new connection counts for, until `leave`; None when there is no place for it."""
        holder = self._holder(peer)
        if self.open >= self._most or (holder is not _MANY and self._of[holder] >= self._per_address):
            return None
        self.open += 1
        self._of[holder] += 1
        return holder

    def is_proxy(self, holder: str | None) -> bool:
        """Whether the connections of this holder are a trusted proxy's."""
        return holder is _MANY

    def leave(self, holder: str) -> None:
        self.open -= 1
        self._of[holder] -= 1
        if not self._of[holder]:
            del self._of[holder]

    def _find_holder(self, peer: str) -> str:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:  # not a network's socket
            return neighbourhood(peer)
        return _MANY if any(address in network for network in self._proxies) else neighbourhood(peer)


def _descriptors() -> int:
    """How many files and connections this process may have open: as many as the system lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = shared_limits.CONNECTIONS + shared_limits.DESCRIPTORS_KEPT
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    # Many systems begin with 1024 and allow far more; without a descriptor nothing works, the database least of all.
    resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return raised
