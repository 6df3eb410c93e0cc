"""What scopes open, and what they do not."""

import pytest

from deedbox.accounts import scopes
from deedbox.accounts.caller import Caller
from deedbox.kernel.errors import ErrorCode, Forbidden
from deedbox.kernel.ratelimit import Allowance

DOCUMENTS = {"documents:read", "documents:write", "documents:send", "documents:embed", "documents:void"}


def test_the_scopes_are_those_of_the_contract() -> None:
    named = """documents:read documents:write documents:send documents:embed documents:void verify:read workspace:read
        workspace:write hooks:read hooks:write keys:read keys:write archive:read
        search:read search:write search:query embeddings:create"""
    assert set(scopes.SCOPES) == set(named.split())
    assert set(scopes.SHORTHANDS) == {"*", "documents:*"}


@pytest.mark.parametrize(
    ("stored", "opens"),
    [
        ("", set()),
        ("documents:read", {"documents:read"}),
        ("documents:write", {"documents:write"}),
        ("documents:send", {"documents:send", "documents:write"}),
        ("documents:*", {*DOCUMENTS, "documents:*"}),
        ("documents:* keys:read", {*DOCUMENTS, "documents:*", "keys:read"}),
        ("*", {*scopes.SCOPES, *scopes.SHORTHANDS}),
        ("keys:read *", {*scopes.SCOPES, *scopes.SHORTHANDS}),
    ],
)
def test_what_a_stored_list_opens(stored: str, opens: set[str]) -> None:
    assert scopes.expand_scopes(stored) == opens


def test_all_single_scopes_together_are_less_than_everything() -> None:
    mine = scopes.expand_scopes(" ".join(scopes.SCOPES))
    assert scopes.missing_scope(mine, scopes.SCOPES) is None
    assert scopes.missing_scope(mine, ["*"]) == "*"
    assert scopes.missing_scope(mine, ["documents:*"]) == "documents:*"


def test_the_first_missing_scope_is_named() -> None:
    mine = scopes.expand_scopes("search:read")
    assert scopes.missing_scope(mine, ["search:read", "keys:read", "hooks:read"]) == "keys:read"
    assert scopes.missing_scope(mine, []) is None


@pytest.mark.parametrize(
    "name", ["", " ", "documents", "Documents:read", "documents:read ", "documents:read keys:write", "**"]
)
def test_nothing_else_is_a_scope(name: str) -> None:
    assert not scopes.is_scope(name)


def test_a_caller_without_a_scope_is_told_which() -> None:
    caller = Caller("key_x", "wsp_x", scopes.expand_scopes("documents:send"), Allowance(1, 1))
    caller.need("documents:write")
    with pytest.raises(Forbidden, match="documents:void") as refused:
        caller.need("documents:void")
    assert refused.value.code == ErrorCode.MISSING_SCOPE
