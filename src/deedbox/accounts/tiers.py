"""How many requests a key may make."""

from typing import Literal, TypeAlias

from deedbox.kernel.ratelimit import Allowance

Tier: TypeAlias = Literal["starter", "professional", "enterprise"]

TIERS: dict[str, Allowance] = {
    "starter": Allowance(per_minute=60, per_day=5_000),
    "professional": Allowance(per_minute=300, per_day=50_000),
    # Enterprise limits are set per key; these hold where the key sets none.
    "enterprise": Allowance(per_minute=6_000, per_day=1_000_000),
}
DEFAULT_TIER: Tier = "professional"


def allowance(tier: str, per_minute: int | None, per_day: int | None) -> Allowance:
    """The tier's limits, with the key's own where it has them."""
    usual = TIERS[tier]
    if per_minute is None and per_day is None:
        return usual
    return Allowance(per_minute=per_minute or usual.per_minute, per_day=per_day or usual.per_day)
