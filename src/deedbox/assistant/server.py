"""The server of the Model Context Protocol that offers the tools. Imported only where it is used: it takes seconds."""

import functools
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from deedbox import VERSION
from deedbox.assistant import toolbox
from deedbox.assistant.api import Api, ApiRefusal
from deedbox.assistant.tool import NOTICE, Tool, readable, schema

_INSTRUCTIONS = (
    "Deedbox keeps documents: a library that can be searched, and documents that people sign. Quote what you tell from"
    f" it with its document and page. {NOTICE} A draft that you prepare is sent by a person, unless there is a"
    " tool send_draft and a person has asked you to use it."
)


def create_server(api: Api) -> Server[Any]:
    """A server whose tools ask this API; it keeps nothing between two requests."""

    async def offer(_: ServerRequestContext[Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            return types.ListToolsResult(tools=[_described(tool.name) for tool in await toolbox.available_tools(api)])
        except ApiRefusal as refused:
            raise MCPError(types.INTERNAL_ERROR, str(refused)) from refused

    async def call(_: ServerRequestContext[Any], asked: types.CallToolRequestParams) -> types.CallToolResult:
        if asked.name not in toolbox.TOOLS:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {asked.name[:100]}")
        try:
            outcome = await toolbox.call(api, asked.name, asked.arguments or {})
        except ApiRefusal as refused:
            return types.CallToolResult(content=[types.TextContent(text=str(refused))], is_error=True)
        return types.CallToolResult(
            content=[types.TextContent(text=readable(outcome))],
            structured_content={"notice": NOTICE, **msgspec.to_builtins(outcome.data)},
        )

    return Server(
        "deedbox",
        version=VERSION,
        title="Deedbox",
        instructions=_INSTRUCTIONS,
        get_tool_input_schema=_taken,
        on_list_tools=offer,
        on_call_tool=call,
    )


def _taken(name: str) -> dict[str, Any] | None:
    return _described(name).input_schema if name in toolbox.TOOLS else None


@functools.cache
def _described(name: str) -> types.Tool:
    tool = toolbox.TOOLS[name]
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema(tool.takes),
        output_schema=_given(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.effect == "reads",
            destructive_hint=tool.effect == "sends",
            open_world_hint=tool.effect == "sends",
        ),
    )


def _given(tool: Tool) -> dict[str, Any]:
    """The schema of what it gives, and of the notice that stands before it."""
    found = schema(tool.gives)
    properties = {"notice": {"type": "string"}, **found["properties"]}
    return {**found, "properties": properties, "required": ["notice", *found["required"]]}
