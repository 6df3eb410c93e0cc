"""The tools over standard input and output, for an assistant on the same machine."""

from mcp.server.stdio import stdio_server

from deedbox.assistant.api import Api
from deedbox.assistant.server import create_server


async def serve(api: Api) -> None:
    """Serves until the input ends."""
    server = create_server(api)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
