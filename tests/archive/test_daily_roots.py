"""The daily round: each day's packages get a root that is stamped and published, whatever comes between."""

import asyncio
import base64
import json
import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from deedbox.archive import limits as archive_limits
from deedbox.archive import merkle, proofs, store
from deedbox.archive.daily_roots import ROOTS_JOB
from deedbox.archive.overview import Overview, overview
from deedbox.archive.receipt import Tree
from deedbox.authority import issue as certificates
from deedbox.kernel import limits
from deedbox.kernel.settings import Networks
from tests.archive.conftest import DAY, Archivist, archiving, midnight, next_day, problems, proof_of, root_of, verdicts
from tests.conftest import HandClock
from tests.pdf import issued
from tests.signing.test_seal import Authority, serving


@pytest.fixture(autouse=True)
def files_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock in hand goes days ahead of the one by which files are stamped: none is as old as it seems."""
    monkeypatch.setattr(limits, "BLOB_ORPHAN_SECONDS", 365 * DAY)


pytestmark = pytest.mark.anyio


async def test_a_day_of_packages_gets_a_stamped_root_with_proofs_beside_them(
    office: Archivist, clock: HandClock
) -> None:
    documents = [await office.archived() for _ in range(3)]
    assert [one.proven for one in await verdicts(office)] == [False] * 3
    await next_day(office, clock)
    found = await verdicts(office)
    assert [(one.problem, one.proven) for one in found] == [(None, True)] * 4
    root = root_of(office)
    assert re.fullmatch("000001-2026-03-01-[0-9a-f]{16}.json", root.name)
    told = json.loads(root.read_text())
    leaves = []
    for document in documents:
        proof = json.loads(proof_of(office, document).read_text())
        start = proofs.leaf(proof["package"], proof["sha256"], proof["size_bytes"])
        path = [bytes.fromhex(one) for one in proof["path"]]
        assert merkle.includes(bytes.fromhex(told["root"]), told["size"], proof["index"], start, path)
        leaves.append(proof["index"])
    assert sorted(leaves) == [0, 1, 2]


async def test_the_round_runs_by_itself_and_every_root_names_the_one_before(
    office: Archivist, clock: HandClock
) -> None:
    for number in (1, 2):
        await office.archived()
        clock.forward(DAY)
        async with asyncio.timeout(60):
            while len(await office.api.rows("select 1 from archive_trees where published_at is not null")) < number:
                office.api.deedbox.jobs.wake()
                await asyncio.sleep(0.05)
    first, second = await office.api.deedbox.db.read(lambda tx: (store.tree(tx, 1), store.tree(tx, 2)))
    assert isinstance(first, Tree)
    assert isinstance(second, Tree)
    assert (first.previous, second.previous) == (None, proofs.statement_sha256(first))
    assert await problems(office) == {}
    planned = await office.api.rows("select run_at from jobs where kind = 'archive_roots' and state = 'ready'")
    assert len(planned) == 1


async def test_a_round_that_meets_a_process_without_the_key_is_put_back(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    waiting = f"select run_at from jobs where kind = '{ROOTS_JOB}' and state in ('ready', 'running')"
    async with archiving(database_url, tmp_path, clock) as office:
        await office.archived()
    clock.forward(DAY)
    async with archiving(database_url, tmp_path, clock, service_ecosystem_key=None) as office, asyncio.timeout(60):
        soon = clock.now().timestamp() + archive_limits.ARCHIVE_KEYLESS_SECONDS
        while await office.api.rows(waiting) != [(soon,)]:
            await asyncio.sleep(0.02)
        assert await office.api.rows("select * from archive_trees") == []
    clock.forward(archive_limits.ARCHIVE_KEYLESS_SECONDS)
    async with archiving(database_url, tmp_path, clock) as office, asyncio.timeout(60):
        while not await office.api.rows("select 1 from archive_trees where published_at is not null"):
            await asyncio.sleep(0.02)


async def test_after_a_restored_backup_roots_are_published_again(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    await next_day(office, clock)
    day = midnight(clock)
    before = {path.name for path in office.folder.rglob("*.json")}
    await restored(office)
    # The very same root, which gets another time-stamp; then one over more packages, in which every path is another.
    assert await office.archive.daily_roots.close_before(day) == 0
    await restored(office)
    await office.archived()
    await next_day(office, clock)
    found = await verdicts(office)
    assert [(one.problem, one.unseen, one.proven) for one in found] == [(None, None, True)] * 3
    assert before < {path.name for path in office.folder.rglob("*.json")}
    assert len(list(office.package(document).parent.glob(f"{document['id']}.*.proof.json"))) == 2


async def test_a_root_that_cannot_be_published_keeps_no_other_from_it_and_is_shown(
    office: Archivist, clock: HandClock
) -> None:
    document = await office.archived()
    faulty = office.with_fault()
    faulty.down = True
    await next_day(office, clock)
    first = await tree_of(office, 1)
    name = proofs.proof_name(f"{office.api.workspace}/{document['id']}.zip", first)
    (office.folder / name).write_text("something else")
    faulty.down = False
    await office.archived()
    await next_day(office, clock)
    shown = await status(office)
    (root,) = shown.unpublished
    assert (root.number, root.day, root.error) == (
        1,
        "2026-03-01",
        f"Something else lies under {name} in the archive, and it must not be replaced",
    )
    assert shown.last_root == f"roots/{root_of(office).name}"
    assert shown.last_root.startswith("roots/000002-2026-03-02-")
    found = {one.name: one for one in await verdicts(office)}
    assert "not published yet. Something else lies" in str(found[proofs.root_name(first)].unseen)


async def test_a_tree_that_could_not_be_published_is_published_by_a_later_round(
    office: Archivist, clock: HandClock
) -> None:
    await office.archived()
    faulty = office.with_fault()
    faulty.down = True
    await next_day(office, clock)
    assert [one.error for one in (await status(office)).unpublished] == ["The archive is down"]
    faulty.down = False
    faulty.silent = True
    await next_day(office, clock)
    assert [one.error for one in (await status(office)).unpublished] == ["The archive said nothing"]
    faulty.silent = False
    # Not only on the next day.
    clock.forward(archive_limits.ARCHIVE_ROOT_RETRY_SECONDS)
    async with asyncio.timeout(60):
        while (await status(office)).unpublished:
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.02)
    assert [one.proven for one in await verdicts(office)] == [True, True]
    assert len(list((office.folder / "roots").iterdir())) == 1


async def test_a_root_waits_for_the_configured_authority_and_not_for_ever(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    with serving() as running:
        settings = stamped_by(running, tmp_path, clock)
        good, running.answer = running.answer, lambda _: (503, b"")
        async with archiving(database_url, tmp_path, clock, **settings) as office:
            await office.archived()
            await next_day(office, clock)
            (root,) = (await status(office)).unpublished
            assert root.error == "The timestamp authority answered with status 503"
            assert not (office.folder / "roots").exists()
            running.answer = good
            await next_day(office, clock)
            first = json.loads(root_of(office).read_text())
            assert base64.b64decode(first["timestamp"])
            assert "degraded" not in first

            running.answer = lambda _: (503, b"")
            await office.archived()
            await next_day(office, clock)
            clock.forward(DAY * archive_limits.ARCHIVE_TIMESTAMP_DAYS)
            await next_day(office, clock)
            shown = await status(office)
            assert (shown.unpublished, shown.trees, shown.degraded) == ([], 2, 1)
            second = max((office.folder / "roots").iterdir())
            assert json.loads(second.read_text())["degraded"] is True
            assert [(one.problem, one.proven) for one in await verdicts(office)] == [(None, True)] * 4


async def test_packages_and_roots_stamped_by_the_configured_authority_verify_when_certificates_have_ended(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    with serving() as running:
        settings = stamped_by(running, tmp_path, clock)
        async with archiving(database_url, tmp_path, clock, **settings) as office:
            await office.archived()
            await next_day(office, clock)
            clock.forward(DAY * 900)
            assert await problems(office) == {}
        del settings["tsa_ca_file"]
        async with archiving(database_url, tmp_path, clock, **settings) as office:
            package, root = await verdicts(office)
            assert "The sealed file is unrecognised" in str(package.problem)
            assert "name its root certificate in DEEDBOX_TSA_CA_FILE" in str(root.problem)


def stamped_by(running: Authority, folder: Path, clock: HandClock) -> dict[str, Any]:
    """The settings of an installation whose time-stamps come from there."""
    clock.time = issued.NOW
    running.answer = lambda query: (200, running.unit.answer(query, clock.now()))
    ca_file = folder / "tsa.pem"
    ca_file.write_bytes(certificates.pem([issued.installation().root.der]))
    allowed = Networks([ip_network("127.0.0.0/8")])
    return {"tsa_url": running.url, "tsa_ca_file": ca_file, "egress_allow": allowed}


async def restored(office: Archivist) -> None:
    """The database as it was after the packages were archived and before their root was made."""
    for sql in ("update archives set tree = null, leaf = null, proof = null", "delete from archive_trees"):
        await office.api.deedbox.db.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]


async def status(office: Archivist) -> Overview:
    return await office.api.deedbox.db.read(overview)


async def tree_of(office: Archivist, number: int) -> Tree:
    found = await office.api.deedbox.db.read(lambda tx: store.tree(tx, number))
    assert found is not None
    return found
