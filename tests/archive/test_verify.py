"""`deedbox archive verify` and the daily roots: what is not as it was archived is found, wherever it lies."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from deedbox.archive import merkle, proofs, store
from deedbox.archive.receipt import Tree
from deedbox.archive.rounds import ROUND_JOB
from deedbox.archive.verifying import Verdict
from deedbox.kernel.crypto import Secret
from tests.archive.conftest import DAY, KEY, Archivist, archiving
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio


async def verdicts(office: Archivist) -> list[Verdict]:
    found: list[Verdict] = []
    await office.archiving.verifying().all(found.append)
    return found


async def problems(office: Archivist) -> dict[str, str | None]:
    return {one.name: one.problem for one in await verdicts(office) if one.problem}


async def next_day(office: Archivist, clock: HandClock) -> None:
    """The day ends, and the round over it is made."""
    clock.forward(DAY)
    midnight = clock.now().replace(hour=0, minute=0, second=0)
    await office.archiving.rounds.close_before(midnight)
    # The day's own job has come due as well: what follows is not to meet it at work.
    due = f"select 1 from jobs where kind = '{ROUND_JOB}' and state in ('ready', 'running') and run_at <= "
    async with asyncio.timeout(60):
        while await office.api.rows(due + str(clock.now().timestamp())):
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.02)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


async def test_a_day_of_packages_gets_a_stamped_root_with_proofs_beside_them(
    office: Archivist, clock: HandClock
) -> None:
    documents = [await office.archived() for _ in range(3)]
    assert [one.proven for one in await verdicts(office)] == [False] * 3
    await next_day(office, clock)
    found = await verdicts(office)
    assert [(one.problem, one.proven) for one in found] == [(None, True)] * 4
    (root,) = (office.folder / "roots").iterdir()
    assert root.name == "000001-2026-03-01.json"
    told = json.loads(root.read_text())
    leaves = []
    for document in documents:
        package = office.package(document)
        proof = json.loads(package.with_suffix("").with_suffix(".proof.json").read_text())
        start = proofs.leaf(proof["package"], proof["sha256"], proof["size_bytes"])
        path = [bytes.fromhex(one) for one in proof["path"]]
        assert merkle.includes(bytes.fromhex(told["root"]), told["size"], proof["index"], start, path)
        leaves.append(proof["index"])
    assert sorted(leaves) == [0, 1, 2]


async def test_the_api_shows_receipt_and_proof_to_who_may_see_them(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    path = f"/api/v1/documents/{document['id']}/archive"
    shown = (await office.api.get(path)).json()
    assert (shown["receipt"], shown["proof"]) == (document["archive"]["receipt"], None)
    await next_day(office, clock)
    proof = (await office.api.get(path)).json()["proof"]
    assert (proof["tree"], proof["day"], proof["index"], proof["path"]) == (1, "2026-03-01", 0, [])
    assert json.loads(proof["statement"])["root"] == proof["root"]
    assert proof["timestamp"]
    reader = await office.api.make_key("documents:read")
    assert (await office.api.get(path, key=reader)).status_code == 403
    elsewhere = await office.api.make_key("archive:read", workspace=office.api.other_workspace)
    assert (await office.api.get(path, key=elsewhere)).status_code == 404


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
    planned = await office.api.rows("select run_at from jobs where kind = 'archive_round' and state = 'ready'")
    assert len(planned) == 1


async def test_a_flipped_byte_of_a_package_is_found(office: Archivist) -> None:
    document, other = await office.archived(), await office.archived()
    place = office.package(document)
    good = place.read_bytes()
    for share in (0.0, 0.01, 0.3, 0.6, 0.9, 0.999):
        flip(place, int(share * len(good)))
        found = await problems(office)
        assert list(found) == [f"{office.api.workspace}/{document['id']}.zip"], share
        assert other["id"] not in str(found)
        place.write_bytes(good)
    assert await problems(office) == {}


async def test_a_flipped_byte_beside_the_packages_is_found(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    await next_day(office, clock)
    proof = office.package(document).with_suffix("").with_suffix(".proof.json")
    (root,) = (office.folder / "roots").iterdir()
    for path in (proof, root):
        good = path.read_bytes()
        for at in range(0, len(good), 331):
            flip(path, at)
            assert len(await problems(office)) == 1, f"{path.name} at {at}"
            path.write_bytes(good)
    assert await problems(office) == {}


async def test_what_is_missing_is_found(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    await next_day(office, clock)
    (root,) = (office.folder / "roots").iterdir()
    root.unlink()
    assert await problems(office) == {"roots/000001-2026-03-01.json": "The root is missing in the archive"}
    office.package(document).unlink()
    name = f"{office.api.workspace}/{document['id']}.zip"
    assert (await problems(office))[name] == f"There is no {name} in the archive"


async def test_a_package_put_in_place_of_another_is_found(office: Archivist) -> None:
    one, other = await office.archived(), await office.archived()
    office.package(one).write_bytes(office.package(other).read_bytes())
    assert "outside of its document's bag" in str(await problems(office))


async def test_who_changed_the_database_too_is_betrayed_by_the_root(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    await next_day(office, clock)
    sql = "update archive_trees set root = :root"
    await office.api.deedbox.db.write(lambda tx: tx.run(sql, root="0" * 64))
    assert len(await problems(office)) == 2, document["id"]


async def test_another_key_and_another_place_are_told_apart_from_damage(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with archiving(database_url, tmp_path, clock) as office:
        document = await office.archived()
    more: dict[str, Any] = {"service_ecosystem_key": Secret(f"{KEY}x")}
    async with archiving(database_url, tmp_path, clock, **more) as office:
        (found,) = await verdicts(office)
        assert (found.problem, found.other_key) == (None, True)
    async with archiving(database_url, tmp_path, clock, archive_url="s3://another") as office:
        (found,) = await verdicts(office)
        assert (found.problem, found.elsewhere) == (None, True), document["id"]


async def test_a_tree_that_could_not_be_published_is_published_by_the_next_round(
    office: Archivist, clock: HandClock
) -> None:
    await office.archived()
    faulty = office.with_fault()
    faulty.down = True
    with pytest.raises(Exception, match="down"):
        await next_day(office, clock)
    faulty.down = False
    faulty.silent = True
    with pytest.raises(Exception, match="said nothing"):
        await next_day(office, clock)
    faulty.silent = False
    await next_day(office, clock)
    assert [one.proven for one in await verdicts(office)] == [True, True]
    assert len(list((office.folder / "roots").iterdir())) == 1
