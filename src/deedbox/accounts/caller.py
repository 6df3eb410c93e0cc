"""Who makes a request."""

import msgspec

from deedbox.kernel.errors import ErrorCode, Forbidden
from deedbox.kernel.ids import is_id
from deedbox.kernel.ratelimit import Allowance


class Caller(msgspec.Struct, frozen=True):
    id: str
    """The key, or the person signed in."""
    workspace_id: str
    scopes: frozenset[str]
    allowance: Allowance
    name: str = ""
    """What the key or the person is called."""
    collections: frozenset[str] | None = None
    """Those that the key is limited to; None: it is not."""
    is_owner: bool = False
    """The command line, or a person with the role owner: no key bounds what they make."""

    def may(self, scope: str) -> bool:
        return scope in self.scopes

    def need(self, scope: str) -> None:
        if scope not in self.scopes:
            if is_id(self.id, "per"):
                raise Forbidden(
                    "Your role in this workspace does not allow this. Ask one of its owners.",
                    code=ErrorCode.MISSING_SCOPE,
                )
            raise Forbidden(
                f"This API key lacks the scope {scope}. Use a key that has it, or create one with it.",
                code=ErrorCode.MISSING_SCOPE,
            )
