"""All tools: which of them a key is offered, and the call of one."""

from typing import Any

import msgspec

from deedbox.accounts import scopes
from deedbox.assistant import library, signing, verification
from deedbox.assistant.api import Api, ApiRefusal, answer, get
from deedbox.assistant.tool import Tool, ToolOutcome
from deedbox.kernel import traces, validation_errors

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*library.TOOLS, *signing.TOOLS, *verification.TOOLS)}
SCOPES = sorted({tool.scope for tool in TOOLS.values() if tool.effect != "sends"})
"""What all of them need together, but for those that send."""
SENDING = sorted({tool.scope for tool in TOOLS.values() if tool.effect == "sends"})


class _Key(msgspec.Struct):
    scopes: list[str]


class _Me(msgspec.Struct):
    key: _Key


async def available_tools(api: Api) -> list[Tool]:
    """The tools for which the key in use has the scope."""
    mine = scopes.expand_scopes(" ".join((await answer(api, get("/api/v1/me"), _Me)).key.scopes))
    return [tool for tool in TOOLS.values() if tool.scope in mine]


async def call(api: Api, name: str, arguments: dict[str, Any]) -> ToolOutcome:
    """What the tool tells; Refused, with the reason, for what it cannot do or the key may not."""
    tool = TOOLS[name]
    with traces.span("tool", {"deedbox.tool": name}):
        try:
            wanted = msgspec.convert(arguments, tool.takes)
        except msgspec.ValidationError as error:
            raise ApiRefusal(f"{name}: {validation_errors.describe(tool.takes, error)}") from error
        return await tool.run(api, wanted)
