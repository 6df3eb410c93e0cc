"""The tools over standard input and output, for an assistant on the same machine."""

from mcp.server.stdio import stdio_server

from deedbox.assistant.api import Api
from deedbox.assistant.server import serving


async def serve(api: Api) -> None:
    """Serves until the input ends."""
    server = serving(api)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
