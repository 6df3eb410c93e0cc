"""How far a key reaches: scopes, collections, tier, rate and end. None makes or changes a key beyond itself."""

import msgspec
from msgspec.structs import replace

from deedbox.accounts import scopes, tiers
from deedbox.accounts.store import KeyRow
from deedbox.kernel import limits
from deedbox.kernel.errors import ErrorCode, Forbidden

_COLLECTIONS = msgspec.json.Decoder(list[str])

_RANKS = list(tiers.TIERS)
"""The lowest tier first."""
_FOR_EVER = "~"
"""After every instant."""


def need_within(key: KeyRow, bound: KeyRow) -> None:
    """Forbidden, with what to ask for instead, if the key would have anything that the bound has not."""
    missing = scopes.missing_scope(scopes.expand_scopes(bound.scopes), key.scopes.split())
    if missing is not None:
        raise Forbidden(f"A key cannot grant the scope {missing}, which it lacks itself.", code=ErrorCode.MISSING_SCOPE)
    mine, theirs = collections(bound), collections(key)
    if mine is not None and (theirs is None or not set(theirs) <= set(mine)):
        raise Forbidden(f"A key cannot reach beyond its own collections. Set collections to some of: {', '.join(mine)}")
    if _RANKS.index(key.tier) > _RANKS.index(bound.tier):
        raise Forbidden(f"A key of the tier {bound.tier} cannot give the tier {key.tier}. Ask for tier {bound.tier}.")
    need_no_more(key, bound)


def need_no_more(key: KeyRow, bound: KeyRow) -> None:
    """Forbidden if the key would have a higher rate or a later end than the bound."""
    if _end(key) > _end(bound):
        raise Forbidden(f"A key can give no later end than {bound.expires_at}. Set expires_at to that or earlier.")
    if lower_to_bound(key, bound) != key:
        per_minute, per_day = _rate(bound)
        raise Forbidden(
            f"A key can give no higher rate than {per_minute} in a minute and {per_day} in a day."
            " Set rate_limit to that or less."
        )


def lower_to_bound(key: KeyRow, bound: KeyRow) -> KeyRow:
    """The key with no higher rate and no later end than the bound: itself, if it has neither."""
    mine, most = _rate(key), _rate(bound)
    least = (min(mine[0], most[0]), min(mine[1], most[1]))
    if least != mine:
        key = replace(key, per_minute=least[0], per_day=least[1])
    return replace(key, expires_at=bound.expires_at) if _end(key) > _end(bound) else key


def collections(row: KeyRow) -> list[str] | None:
    """Those that the key is limited to; None if it is not."""
    return None if row.collections is None else _COLLECTIONS.decode(row.collections)


def _rate(row: KeyRow) -> tuple[int, int]:
    """Requests in a minute and in a day."""
    own = tiers.allowance(row.tier, row.per_minute, row.per_day)
    return own.per_minute, own.per_day or limits.RATE_PER_DAY_MAX


def _end(row: KeyRow) -> str:
    return row.expires_at or _FOR_EVER
