"""`deedbox keys`: makes, lists, changes and revokes API keys, and rotates the master key; beside a server too."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from msgspec import UNSET, Meta
from msgspec.structs import replace

from deedbox.accounts import keys, tiers, workspaces
from deedbox.accounts.scopes import SCOPES, SHORTHANDS
from deedbox.accounts.tiers import DEFAULT_TIER, TIERS
from deedbox.cli import progress
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import limits
from deedbox.kernel.collection import CollectionName
from deedbox.kernel.db import Tx


def _name(context: click.Context, option: click.Parameter, text: str | None) -> str | None:  # noqa: ARG001
    if text is None:
        return None
    # An argument that is not UTF-8 arrives with lone surrogates, which no database takes.
    if not 1 <= len(text) <= limits.KEY_NAME_CHARS or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise click.BadParameter(f"it must have 1 to {limits.KEY_NAME_CHARS} characters of UTF-8")
    return text


def _collections(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> list[str] | None:  # noqa: ARG001
    """As the API takes them; None for all."""
    try:
        bounds = Meta(max_length=limits.KEY_COLLECTIONS)
        return msgspec.convert(list(names), Annotated[list[CollectionName], bounds]) or None
    except msgspec.ValidationError as error:
        raise click.BadParameter(
            f"at most {limits.KEY_COLLECTIONS}, each of 1 to {limits.COLLECTION_CHARS} characters without outer spaces"
        ) from error


_expires_at = click.option(
    "--expires-at", type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z"]), help="RFC 3339, for example 2027-01-31T00:00:00Z"
)


@click.group()
def command() -> None:
    """Create, list, change and revoke API keys; rotate the master key."""


@command.command()
@data_option
@json_option
@click.option("--name", required=True, callback=_name, help="What the key is for.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice([*SCOPES, *SHORTHANDS]), metavar="SCOPE",
              help="What it opens; repeat for several. Default: every search scope.")  # fmt: skip
@click.option("--tier", type=click.Choice(list(TIERS)), default=DEFAULT_TIER, show_default=True)
@click.option("--per-minute", type=click.IntRange(1, limits.RATE_PER_MINUTE_MAX), help="Custom rate limit.")
@click.option("--per-day", type=click.IntRange(1, limits.RATE_PER_DAY_MAX), help="Custom rate limit.")
@click.option("--collection", "collections", multiple=True, metavar="NAME", callback=_collections,
              help="Only this collection of the library exists for it; repeat for several. Default: all.")  # fmt: skip
@_expires_at
def create(
    data_dir: Path | None, as_json: bool, scopes: tuple[str, ...], expires_at: datetime | None, **rest: Any
) -> None:
    """Create an API key and show it, once."""

    async def work(deedbox: Any) -> tuple[keys.KeyRecord, str]:
        now = deedbox.clock.now()
        own, within = _rate_limit(rest), rest["collections"]
        new = keys.NewKey(rest["name"], list(scopes) or None, rest["tier"], expires_at, own, within)

        def make(tx: Tx) -> tuple[keys.KeyRecord, str]:
            workspace = workspaces.ensure(tx, now=now)
            record, plain = keys.create(tx, workspaces.operator(workspace.id), new, now=now)
            return record, plain.reveal()

        made: tuple[keys.KeyRecord, str] = await deedbox.db.write(make)
        return made

    record, plain = run(load(data_dir=data_dir), work, anew=True)
    if as_json:
        print_json({**msgspec.structs.asdict(record), "key": plain})
    else:
        click.echo(f"{plain}\n")
        click.echo(f"Key {record.id} ({record.name}): {', '.join(record.scopes)}. It is shown only now; keep it safe.")


def _rate_limit(given: dict[str, Any]) -> keys.RateLimit | None:
    """The limits of the key's own: the one that is not given is its tier's."""
    if given["per_minute"] is None and given["per_day"] is None:
        return None
    own = tiers.allowance(given["tier"], given["per_minute"], given["per_day"])
    return keys.RateLimit(own.per_minute, own.per_day or limits.RATE_PER_DAY_MAX)


@command.command("list")
@data_option
@json_option
def list_keys(data_dir: Path | None, as_json: bool) -> None:
    """List the API keys, newest first."""

    async def work(deedbox: Any) -> list[keys.KeyRecord]:
        now = deedbox.clock.now()

        def look(tx: Tx) -> list[keys.KeyRecord]:
            caller = workspaces.operator(workspaces.ensure(tx, now=now).id)
            # There may be any number: revoked ones do not count against what a workspace may have.
            listed: list[keys.KeyRecord] = []
            while page := keys.page(
                tx, caller, limit=limits.PAGE_MAX, after=listed[-1].id if listed else None, now=now
            ):
                listed += page
            return listed

        found: list[keys.KeyRecord] = await deedbox.db.write(look)
        return found

    found = run(load(data_dir=data_dir), work)
    if as_json:
        print_json({"keys": found})
        return
    for key in found:
        used = key.last_used_at or "never used"
        click.echo(f"{key.id}  {key.prefix}…{key.last4}  {key.status:8} {key.tier:13} {used:21} {key.name}")


@command.command()
@data_option
@json_option
@click.option("--name", callback=_name, help="What the key is for.")
@click.option("--per-minute", type=click.IntRange(1, limits.RATE_PER_MINUTE_MAX), help="Custom rate limit.")
@click.option("--per-day", type=click.IntRange(1, limits.RATE_PER_DAY_MAX), help="Custom rate limit.")
@click.option("--tier-limits", is_flag=True, help="Remove the custom rate limit and use that of the tier.")
@_expires_at
@click.option("--no-end", is_flag=True, help="It works until it is revoked.")
@click.argument("key_id")
def change(data_dir: Path | None, as_json: bool, key_id: str, **wish: Any) -> None:
    """Change the name, the rate limit or the end of an API key, upwards too.

    Where it is lowered, the keys that it has made are lowered with it."""
    if wish["tier_limits"] and (wish["per_minute"] or wish["per_day"]):
        raise click.UsageError("--tier-limits stands instead of --per-minute and --per-day")
    if wish["no_end"] and wish["expires_at"]:
        raise click.UsageError("--no-end stands instead of --expires-at")
    if not any(wish.values()):
        raise click.UsageError(
            "Say what is to change: --name, --per-minute, --per-day, --tier-limits, --expires-at, --no-end"
        )

    async def work(deedbox: Any) -> keys.KeyRecord:
        now = deedbox.clock.now()

        def act(tx: Tx) -> keys.KeyRecord:
            owner = workspaces.operator(workspaces.ensure(tx, now=now).id)
            wanted = _change(keys.get(tx, owner, key_id, now=now), wish)
            return keys.change(tx, owner, key_id, wanted, now=now)

        changed: keys.KeyRecord = await deedbox.db.write(act)
        return changed

    record = run(load(data_dir=data_dir), work)
    if as_json:
        print_json(record)
    else:
        own = record.rate_limit or tiers.TIERS[record.tier]
        click.echo(f"{record.id} ({record.name}): {own.per_minute} requests in a minute, {own.per_day} in a day;"
                   f" it ends {record.expires_at or 'when it is revoked'}.")  # fmt: skip


def _change(key: keys.KeyRecord, wish: dict[str, Any]) -> keys.KeyChange:
    wanted = keys.KeyChange(name=wish["name"] or UNSET, expires_at=wish["expires_at"] or UNSET)
    if wish["no_end"]:
        wanted = replace(wanted, expires_at=None)
    if wish["tier_limits"]:
        wanted = replace(wanted, rate_limit=None)
    if wish["per_minute"] or wish["per_day"]:
        known = msgspec.structs.asdict(key.rate_limit) if key.rate_limit else {}
        own = {name: wish[name] or known.get(name) for name in ("per_minute", "per_day")}
        wanted = replace(wanted, rate_limit=_rate_limit({"tier": key.tier, **own}))
    return wanted


@command.command()
@data_option
@json_option
@click.argument("key_id")
def revoke(data_dir: Path | None, as_json: bool, key_id: str) -> None:
    """Revoke an API key and the keys that it has made; they fail from the next request on."""

    async def work(deedbox: Any) -> int:
        now = deedbox.clock.now()

        def end(tx: Tx) -> int:
            caller = workspaces.operator(workspaces.ensure(tx, now=now).id)
            return keys.revoke(tx, caller, key_id, now=now)

        made: int = await deedbox.db.write(end)
        return made

    made = run(load(data_dir=data_dir), work)
    if as_json:
        print_json({"id": key_id, "status": "revoked", "also_revoked": made})
    else:
        others = f", and so are {made} keys that it had created" if made else ""
        click.echo(f"{key_id} is revoked{others}.")


@command.command("rotate-master")
@data_option
@json_option
def rotate_master(data_dir: Path | None, as_json: bool) -> None:
    """Encrypt every stored secret anew under a new master key, also while the server runs."""
    from deedbox import wiring
    from deedbox.kernel.rotation import Rotation, rotate

    settings = load(data_dir=data_dir)

    async def work(deedbox: Any) -> Rotation:
        return await rotate(deedbox.db, settings.ring, wiring.ENCRYPTED_COLUMNS, progress.show)

    done = run(settings, work)
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.reencrypted} secrets are under the new master key in {settings.ring}. Back it up now.")
    if done.unreadable:
        click.echo(f"{done.unreadable} secrets could not be opened with any key of the ring; they were left.", err=True)
