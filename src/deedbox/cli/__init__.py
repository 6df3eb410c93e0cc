"""The `deedbox` command."""

import errno
import importlib
import os
import sys
from typing import Any

import click

from deedbox import VERSION
from deedbox.kernel.errors import ServiceError, SetupError

COMMANDS = {
    "serve": "Run the server.",
    "worker": "Do the background work of servers that run elsewhere.",
    "demo": "Show Deedbox at work, with samples, and leave nothing behind.",
    "send": "Send a file to people to sign.",
    "template": "Create and list templates for documents.",
    "bulk": "Send a document of a template for each row of a CSV file.",
    "keys": "Create, list and revoke API keys; rotate the master key.",
    "ca": "Show, renew and revoke the certificates for seals and timestamps, or use your own.",
    "hooks": "Create, list and delete webhooks; receive their deliveries here, and send them again.",
    "archive": "Show and check the long-term archive; push what it does not have yet.",
    "verify": "Say whether a PDF is what was sealed; offline, without a server.",
    "model": "Install, list and choose the embedding model that search needs.",
    "workspace": "Name the workspace and its sender, as people read them in mails; make further workspaces.",
    "login-link": "Make a one-time login link for the owner.",
    "index": "Make a folder or an S3 prefix searchable, and keep it so.",
    "ask": "Show the passages that answer a question.",
    "mcp": "Offer an assistant tools that search, read, prepare drafts and verify.",
    "reindex": "Rebuild the search index from the database.",
    "mail": "List and show mails that stayed here; send a test mail.",
    "jobs": "Show background jobs that were given up, and retry them.",
    "doctor": "Check the installation and say what to do for each problem.",
    "backup": "Write the whole data folder into one file, also while the server runs.",
    "restore": "Bring a backup back into an empty data folder.",
}


_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.EACCES}


class _Commands(click.Group):
    """Imports a command's module only when that command is used: the others would slow every start."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"deedbox.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands)
@click.version_option(VERSION, prog_name="deedbox")
def deedbox() -> None:
    """Sends documents to be signed, seals and proves them, and answers questions about them."""


def main() -> None:
    """Runs a command; what cannot be done is said in a sentence, with the next step, and exit code 1."""
    os.umask(0o077)  # whatever a command makes is its owner's alone
    try:
        deedbox(prog_name="deedbox")
    except SetupError as error:
        _fail(error.reason, error.next_step)
    except ServiceError as error:
        _fail(error.message, "")
    except ModuleNotFoundError as error:
        # Without the extra `server` there are only the commands that talk to a server elsewhere.
        reason = f"This needs the server's packages, and {error.name} is not installed."
        _fail(reason, "Install them with: pip install 'deedbox[server]'")
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        _fail(f"The disk cannot be used: {error}.", "Check its free space and the permissions of the data folder.")


def _fail(reason: str, next_step: str) -> Any:
    if "--json" in sys.argv:
        import json

        click.echo(json.dumps({"error": reason, "next_step": next_step}), err=True)
    else:
        click.echo(f"deedbox: {reason} {next_step}".rstrip(), err=True)
    sys.exit(1)
