"""`deedbox ca`: the installation's own certificates. Works beside a running server."""

from pathlib import Path
from typing import Any, get_args

import click

from deedbox.accounts import workspaces
from deedbox.authority import ISSUING, ROOT, TIMESTAMP, CertificateSummary, Reason
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx

SEAL = "seal"

workspace_option = click.option(
    "--workspace", "workspace_id", metavar="ID", help="Whose seal certificate. Default: the first workspace's."
)


@click.group()
def command() -> None:
    """Show, renew and revoke the certificates for seals and timestamps, or use your own."""


@command.command()
@data_option
@json_option
@click.option("--pem", "as_pem", is_flag=True, help="Print the root certificate only, for those who are to trust it.")
def show(data_dir: Path | None, as_json: bool, as_pem: bool) -> None:
    """Show the certificates; the root is made if there is none yet."""

    async def work(deedbox: Any) -> tuple[bytes, list[CertificateSummary]]:
        return await deedbox.certificates.root_pem(), await deedbox.certificates.listed()

    pem, found = run(load(data_dir=data_dir), work)
    if as_pem:
        click.echo(pem.decode(), nl=False)
    elif as_json:
        print_json({"certificates": found, "root_pem": pem.decode()})
    else:
        for one in found:
            click.echo(f"{one.id}  {one.status:8} until {one.not_after}  {one.use}\n    {one.subject}")
            click.echo(f"    SHA-256 {one.fingerprint}")


@command.command()
@data_option
@json_option
@workspace_option
@click.argument("use", type=click.Choice([ROOT, ISSUING, TIMESTAMP, SEAL]))
def renew(data_dir: Path | None, as_json: bool, workspace_id: str | None, use: str) -> None:
    """Put a new certificate in place of the one in use, and anew below it what that one has issued.

    What was sealed before stays valid. A new root has to be trusted anew by those who verify. `seal` also goes back
    from a certificate of your own to one of this installation."""

    async def work(deedbox: Any) -> CertificateSummary:
        if use == SEAL:
            made: CertificateSummary = await deedbox.certificates.renew_seal(await _workspace(deedbox, workspace_id))
        else:
            made = await deedbox.certificates.renew(use)
        return made

    _print(run(load(data_dir=data_dir), work), as_json, "is in use")


@command.command()
@data_option
@json_option
@click.option("--reason", type=click.Choice(get_args(Reason)), default="unspecified", show_default=True)
@click.argument("certificate_id")
def revoke(data_dir: Path | None, as_json: bool, reason: Reason, certificate_id: str) -> None:
    """Revoke a certificate; the next seal gets a new one."""

    async def work(deedbox: Any) -> CertificateSummary:
        ended: CertificateSummary = await deedbox.certificates.revoke(certificate_id, reason)
        return ended

    _print(run(load(data_dir=data_dir), work), as_json, "is revoked")


@command.command("import")
@data_option
@json_option
@workspace_option
@click.option("--password-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A file with the password. Default: it is asked for.")  # fmt: skip
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def bring(
    data_dir: Path | None, as_json: bool, workspace_id: str | None, password_file: Path | None, file: Path
) -> None:
    """Seal with a certificate of your own, from a PKCS #12 file (.p12, .pfx) with its key and its issuers.

    Its extended key usage must name document signing, and nothing else but e-mail protection."""
    if password_file is not None:
        word = password_file.read_text(encoding="utf-8").rstrip("\r\n")
    else:
        word = click.prompt("Password", default="", hide_input=True, show_default=False, err=True)
    data = file.read_bytes()

    async def work(deedbox: Any) -> CertificateSummary:
        owner = await _workspace(deedbox, workspace_id)
        brought: CertificateSummary = await deedbox.certificates.use_pkcs12(owner, data, Secret(word) if word else None)
        return brought

    _print(run(load(data_dir=data_dir), work), as_json, "is in use")


async def _workspace(deedbox: Any, workspace_id: str | None) -> str:
    now = deedbox.clock.now()

    def find(tx: Tx) -> str:
        return (workspaces.find(tx, workspace_id) if workspace_id else workspaces.ensure(tx, now=now)).id

    found: str = await deedbox.db.write(find)
    return found


def _print(certificate: CertificateSummary, as_json: bool, what: str) -> None:
    if as_json:
        print_json(certificate)
    else:
        click.echo(
            f"{certificate.id} ({certificate.use}: {certificate.subject}) {what}; it ends {certificate.not_after}."
        )
