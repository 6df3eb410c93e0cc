"""A whole installation: events of its documents reach its hooks by themselves, and its housekeeping forgets them."""

import asyncio
from pathlib import Path

import pytest

from deedbox import wiring
from deedbox.accounts import workspace_profile, workspaces
from deedbox.kernel import outbox
from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Networks, Settings
from deedbox.webhooks import catalogue, hooks, signature
from deedbox.webhooks.hook import NewHook
from tests.webhooks.sink import Sink

pytestmark = pytest.mark.anyio


async def test_every_kind_of_event_is_delivered_by_a_running_installation(
    tmp_path: Path, database_url: str, sink: Sink
) -> None:
    url = None if database_url.startswith("sqlite:") else Secret(database_url)
    allowed = Networks(networks("127.0.0.0/8"))
    settings = Settings(data_dir=tmp_path / "data", database_url=url, egress_allow=allowed)
    async with wiring.open_installation(settings) as deedbox:
        now = deedbox.clock.now()
        workspace = await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))
        new = NewHook(sink.url, events=list(catalogue.KINDS))
        made = await deedbox.db.write(
            lambda tx: hooks.create(tx, deedbox.box, workspaces.operator(workspace.id), new, managed_by="api", now=now)
        )
        # The documents that the events tell of are not there: search has no use for them.
        unsearched = workspace_profile.WorkspaceChange(search_documents=False)
        await deedbox.db.write(
            lambda tx: workspace_profile.change(tx, workspaces.operator(workspace.id), unsearched, now=now)
        )
        await deedbox.start()
        for kind, known in catalogue.KINDS.items():
            await deedbox.db.write(
                lambda tx, kind=kind, known=known: outbox.emit(  # type: ignore[misc]
                    tx, workspace.id, kind, "doc_1", known.sample, now=deedbox.clock.now()
                )
            )
        async with asyncio.timeout(60):
            while len(sink.received) < len(catalogue.KINDS):
                await asyncio.sleep(0.01)
        await deedbox.stop()
    assert made.secret is not None
    assert [got.json["type"] for got in sink.received] == list(catalogue.KINDS)
    assert [got.json["sequence"] for got in sink.received] == list(range(1, len(catalogue.KINDS) + 1))
    for got in sink.received:
        timestamp = got.headers["x-service-timestamp"]
        assert got.headers["x-service-signature"] == signature.digest(made.secret, got.body, timestamp)


def test_webhook_secrets_are_among_what_a_new_master_key_seals_anew() -> None:
    assert hooks.ENCRYPTED_SECRETS in wiring.ENCRYPTED_COLUMNS
