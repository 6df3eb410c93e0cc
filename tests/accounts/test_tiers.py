"""The rate limits of the tiers."""

import pytest

from deedbox.accounts import tiers
from deedbox.kernel.ratelimit import Allowance


def test_starter_and_professional_are_those_of_the_contract() -> None:
    assert tiers.allowance("starter", None, None) == Allowance(60, 5_000)
    assert tiers.allowance("professional", None, None) == Allowance(300, 50_000)
    assert tiers.DEFAULT_TIER == "professional"


@pytest.mark.parametrize("tier", ["starter", "professional", "enterprise"])
def test_a_keys_own_limits_go_before_its_tiers(tier: str) -> None:
    usual = tiers.TIERS[tier]
    assert tiers.allowance(tier, 1, 2) == Allowance(1, 2)
    assert tiers.allowance(tier, 1, None) == Allowance(1, usual.per_day)
    assert tiers.allowance(tier, None, 2) == Allowance(usual.per_minute, 2)
