"""The name server is dead under load: webhooks and mail wait, with a reason, and arrive by themselves afterwards. A
store for files that has a name is away with it: clear answers meanwhile, and nothing is lost."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from anyio.from_thread import start_blocking_portal

from tests import s3
from tests.faults import FULL
from tests.faults import installation as installations
from tests.faults.installation import Installation
from tests.faults.names import DOMAIN, NameServer, naming, only_as_root, under
from tests.faults.outage import Scenario, load
from tests.mail.mailserver import Mailroom, mailroom
from tests.s3 import Store
from tests.webhooks.sink import Reply, Sink, listening

pytestmark = only_as_root
BEGUN = 3
REFUSALS = 20
AWAY_SECONDS = 60 if FULL else 0
"""For how long it is away at least; the small size waits for what fails only."""
EVENTS = ["document.sent", "document.signed", "document.completed"]
DELIVERIES = "select error from deliveries where status = 'pending' and attempts > 0"
MAILS = "select error from jobs where kind = 'mail' and state = 'ready' and error is not null"
LOST = ("select count(*) from deliveries where status = 'failed'", "select count(*) from jobs where state = 'parked'")
NOW = (
    "update deliveries set due_at = 0 where status = 'pending' and attempts > 0",
    "update jobs set run_at = 0 where kind = 'mail' and state = 'ready' and error is not null",
)
"""As if the time had passed after which what has failed is tried again."""

RECALLED = (
    "invitations and their mails differ",
    "reminders and their mails differ",
    "the end was not mailed to all invited",
    "who is not needed was not told so",
)
"""Not faults here: these checks suppose that no mail is ever taken back. With a mail server, one that waits
and asks for what is no longer wanted is; all four kinds are seen as well when no name server dies."""


def test_webhooks_and_mail_have_no_address_under_load(tmp_path: Path) -> None:
    with (
        naming() as names,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listening()) as hooks,
        portal.wrap_async_context_manager(mailroom()) as mails,
    ):
        # Each delivery makes a connection: one that is open needs no name.
        hooks.rule = lambda _: Reply(headers={"Connection": "close"})
        installation = Installation(tmp_path / "data")
        installation.under = under(tmp_path)
        installation.env |= {
            "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8",
            "DEEDBOX_SMTP_URL": f"smtp://mail.{DOMAIN}:{mails.port}",
            "DEEDBOX_SMTP_PLAIN": "true",
            "DEEDBOX_MAIL_FROM": "sign@example.com",
        }
        report = Scenario(installation).run(lambda scenario: _unsent(scenario, names, hooks, mails))
        lost = [installation.rows(sql)[0][0] for sql in LOST]
    print(f"Webhooks and mail without an address under load: {report} ({load()})")
    assert ([fault for fault in report.faults if not fault.endswith(RECALLED)], lost) == ([], [0, 0])


async def _unsent(scenario: Scenario, names: NameServer, hooks: Sink, mails: Mailroom) -> None:
    rows = scenario.installation.rows
    async with installations.client(scenario.server.address, scenario.key) as http:
        hook = {"target_url": f"http://hooks.{DOMAIN}:{hooks.port}/hook", "events": EVENTS}
        assert (await http.post("/api/v1/hooks", json=hook)).status_code == 201
    await scenario.until(lambda: len(hooks.received) > BEGUN and len(mails.taken) > BEGUN, "webhooks and mails arrived")
    names.away = True
    await asyncio.sleep(AWAY_SECONDS)
    await scenario.until(lambda: bool(rows(DELIVERIES) and rows(MAILS)), "webhooks and mails failed")
    deliveries, mailed = rows(DELIVERIES), rows(MAILS)
    assert all(_is_clear(error) for (error,) in (*deliveries, *mailed)), (deliveries[:3], mailed[:3])
    await scenario.done(BEGUN)  # changes go on meanwhile
    names.away = False
    scenario.figures |= {"deliveries that waited": len(deliveries), "mails that waited": len(mailed)}
    await scenario.until(lambda: _arrived(scenario), "what had failed arrived")


def _arrived(scenario: Scenario) -> bool:
    for sql in NOW:
        scenario.installation.change(sql)
    return not scenario.installation.rows(DELIVERIES) and not scenario.installation.rows(MAILS)


def _is_clear(error: str) -> bool:
    """Whether it says which host could not be found."""
    return DOMAIN in error and ("has no address" in error or "could not be looked up" in error)


def test_the_store_for_files_has_no_address_under_load(tmp_path: Path, s3_store: Store) -> None:
    async def away(scenario: Scenario) -> None:
        asked = names.asked
        await scenario.until(lambda: names.asked > asked, "the store's name was looked up")
        names.away = True
        await asyncio.sleep(AWAY_SECONDS)
        await scenario.refused(REFUSALS)
        assert (await scenario.listed()).status_code == 200
        assert "storage_unavailable" in (await scenario.ready()).text
        names.away = False

    installation = Installation(tmp_path / "data")
    with naming() as names, s3.spoiling(s3_store) as (proxy, address):
        proxy.closes = True  # a connection that is open needs no name
        installation.under = under(tmp_path)
        named = f"http://store.{DOMAIN}:{urlsplit(address).port}"
        installation.env |= s3_store.settings(s3_store.bucket(), named)
        report = Scenario(installation).run(away)
    print(f"The store for files without an address under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers storage_unavailable"] >= REFUSALS
