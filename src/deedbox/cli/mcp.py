"""`deedbox mcp`: the tools for an assistant, over standard input and output."""

import asyncio
import os
from pathlib import Path

import click

from deedbox import client
from deedbox.assistant import toolbox
from deedbox.assistant.api import ApiRefusal, ApiRequest
from deedbox.cli import limits
from deedbox.cli.options import data_option
from deedbox.cli.server_client import connect
from deedbox.client import Deedbox
from deedbox.client.call import Call, once
from deedbox.kernel.errors import SetupError


@click.command()
@data_option
@click.option(
    "--allow-sending",
    is_flag=True,
    help="Offer the tool that sends drafts too. With DEEDBOX_API_KEY, the scopes of that key decide.",
)
def command(data_dir: Path | None, allow_sending: bool) -> None:
    """Offer an assistant tools that search, read, prepare drafts and verify, by the Model Context Protocol.

    An assistant's program starts this, and talks to it over standard input and output. It asks the server that
    DEEDBOX_URL and DEEDBOX_API_KEY name, or else the one that runs on the data folder."""
    if allow_sending and data_dir is None and os.environ.get("DEEDBOX_URL"):
        raise click.UsageError("With DEEDBOX_URL, the scopes of DEEDBOX_API_KEY decide: give it documents:send.")
    try:
        from deedbox.assistant import stdio  # needs the extra, and takes seconds
    except ModuleNotFoundError as error:
        reason = f"Tools for assistants need additional packages, and {error.name} is not installed."
        raise SetupError(reason, "Install them with: pip install 'deedbox[mcp]'") from error
    scopes = [*toolbox.SCOPES, *(toolbox.SENDING if allow_sending else [])]
    with connect(data_dir, "deedbox mcp", scopes, key_hours=limits.FOLLOWING_KEY_HOURS) as server:
        asyncio.run(stdio.serve(ServerApi(server)))


class ServerApi:
    """The API of the server that the client is connected to."""

    def __init__(self, server: Deedbox) -> None:
        self._server = server

    async def ask(self, asked: ApiRequest) -> bytes:
        """The body of the good answer; Refused with the message of any other."""
        headers = {"Content-Type": asked.content_type} if asked.body else {}
        if asked.method == "POST":
            headers |= once(None)
        call = Call(asked.method, asked.path, asked.query, headers, asked.body or None)
        try:
            return (await asyncio.to_thread(self._server.response, call)).content
        except client.ApiError as error:
            raise ApiRefusal(error.message) from error
        except client.DeedboxError as error:
            raise ApiRefusal(str(error)) from error
