"""`deedbox archive verify`: what is not as it was archived is found, wherever it lies."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deedbox.archive import package, proofs, store, stored_zip
from deedbox.archive.package import ManifestKey
from deedbox.archive.receipt import Tree
from deedbox.archive.stored_zip import ZipEntry
from deedbox.authority import issue
from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.timestamp import Timestamper
from tests.archive.conftest import KEY, Archivist, archiving, entries, next_day, problems, proof_of, root_of, verdicts
from tests.archive.sink import Sink
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


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


async def test_the_archive_of_a_document_stands_as_the_document_tells(office: Archivist) -> None:
    draft, voided = await office.create(), await office.create(send=True)
    await office.api.post(f"/api/v1/documents/{voided['id']}/void", {"reason": "The wrong flat"})
    for one, status in ((draft, "pending"), (voided, "disabled"), (await office.archived(), "archived")):
        shown = (await office.api.get(f"/api/v1/documents/{one['id']}/archive")).json()
        told = (await office.document(one["id"]))["archive"]
        assert (shown["status"], {name: shown[name] for name in told}) == (status, told)


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
    for path in (proof_of(office, document), root_of(office)):
        good = path.read_bytes()
        for at in range(0, len(good), 331):
            flip(path, at)
            assert len(await problems(office)) == 1, f"{path.name} at {at}"
            path.write_bytes(good)
    assert await problems(office) == {}


async def test_what_is_missing_is_found(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    await next_day(office, clock)
    root = root_of(office)
    root.unlink()
    assert await problems(office) == {f"roots/{root.name}": "The root is missing in the archive"}
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


async def test_a_package_taken_out_of_archive_and_database_is_missed_by_its_root(
    office: Archivist, clock: HandClock
) -> None:
    gone, _ = await office.archived(), await office.archived()
    await next_day(office, clock)
    office.package(gone).unlink()
    proof_of(office, gone).unlink()
    await changed(office, "delete from archives where document_id = :id", id=gone["id"])
    assert list((await problems(office)).values()) == ["The root stands for 2 packages, of which the database knows 1"]


async def test_a_root_whose_time_stamp_is_not_of_its_time_is_found(office: Archivist, clock: HandClock) -> None:
    await office.archived()
    await next_day(office, clock)
    tree = await tree_of(office)
    unit = await office.api.deedbox.certificates.timestamper()
    # Later than it was published; and before its day was over, when more could have come.
    for hours in (1, -18):
        token = unit.token(bytes.fromhex(proofs.statement_sha256(tree)), clock.now() + timedelta(hours=hours))
        await restamped(office, tree, token)
        assert "not between its day and its publication" in str(await problems(office)), hours


async def test_a_root_that_someone_else_stamped_is_found(office: Archivist, clock: HandClock) -> None:
    await office.archived()
    await next_day(office, clock)
    tree = await tree_of(office)
    stranger = issue.make_root("Stranger", now=clock.now())
    unit = issue.make_timestamp_unit(stranger, "Stranger", None, now=clock.now())
    timestamper = Timestamper(CmsSigner(unit.key, unit.der, [stranger.der]))
    token = timestamper.token(bytes.fromhex(proofs.statement_sha256(tree)), clock.now())
    await restamped(office, tree, token)
    found = await verdicts(office)
    assert [one.proven for one in found] == [False, False]
    assert "this server does not trust" in str(found[1].problem)


async def test_a_forged_package_is_not_excused_by_another_key(office: Archivist) -> None:
    document = await office.archived()
    forge(office, document, ManifestKey(Secret("the forger's")), lambda found: found)
    await receipted(office, document)
    assert "a different key from the one in the receipt" in str(await problems(office))


async def test_a_forgery_is_betrayed_by_the_seal_whatever_the_receipt_says(office: Archivist) -> None:
    document = await office.archived()
    key, good = ManifestKey(Secret("the forger's")), office.package(document).read_bytes()
    for path, problem in (
        ("data/original/01-lease.pdf", "The original files are not those that the evidence names."),
        (package.TIMESTAMP_TOKEN, "The timestamp next to the sealed file does not belong to its seal"),
        (package.EVIDENCE_JSON, "This is not an evidence file"),
    ):
        office.package(document).write_bytes(good)
        forge(office, document, key, lambda found, path=path: found | {path: b"another"})  # type: ignore[misc]
        await receipted(office, document, key_id=key.id)
        (found,) = (await problems(office)).values()
        assert str(found).startswith(problem)


async def test_one_document_is_proven_only_if_its_root_is_there(office: Archivist, clock: HandClock) -> None:
    document = await office.archived()
    await next_day(office, clock)
    assert [(one.kind, one.proven) for one in await verdicts(office, document)] == [("package", True), ("root", True)]
    root_of(office).unlink()
    found = await verdicts(office, document)
    assert [(one.kind, one.problem, one.proven) for one in found] == [
        ("package", None, False),
        ("root", "The root is missing in the archive", False),
    ]


async def test_what_an_earlier_version_archived_is_still_found_whole(office: Archivist, clock: HandClock) -> None:
    """Names without a hash, no location with the root, no key in the receipt."""
    document = await office.archived()
    await next_day(office, clock)
    proof_of(office, document).rename(office.package(document).with_suffix(".proof.json"))
    root_of(office).rename(office.folder / "roots" / "000001-2026-03-01.json")
    await changed(office, "update archive_trees set location = null")
    await receipted(office, document, key_id=None)
    await office.archived()
    await next_day(office, clock)
    found = await verdicts(office)
    assert [(one.problem, one.unseen, one.proven) for one in found] == [(None, None, True)] * 4
    assert found[2].name == "roots/000001-2026-03-01.json"
    (office.folder / "roots" / "000001-2026-03-01.json").unlink()
    assert list(await problems(office)) == ["roots/000001-2026-03-01.json"]


async def test_an_archive_that_refuses_the_key_is_not_damaged(
    database_url: str, tmp_path: Path, clock: HandClock, archive_sink: Sink
) -> None:
    more: dict[str, Any] = {"archive_url": f"{archive_sink.url}/deeds", "egress_allow": networks("127.0.0.0/8")}
    async with archiving(database_url, tmp_path, clock, **more) as office:
        await office.archived()
        await next_day(office, clock)
        archive_sink.refused = 401
        found = await verdicts(office)
    assert [(one.kind, one.problem) for one in found] == [("package", None), ("root", None)]
    assert {one.unseen for one in found} == {"The archive answered with status 401: it refuses SERVICE_ECOSYSTEM_KEY"}


async def test_another_key_and_another_place_are_told_apart_from_damage(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with archiving(database_url, tmp_path, clock) as office:
        await office.archived()
        await next_day(office, clock)
    more: dict[str, Any] = {"service_ecosystem_key": Secret(f"{KEY}x")}
    async with archiving(database_url, tmp_path, clock, **more) as office:
        package, root = await verdicts(office)
        assert (package.problem, package.other_key, package.proven, root.problem) == (None, True, True, None)
    async with archiving(database_url, tmp_path, clock, archive_url="s3://another") as office:
        for location in ("location", "null"):  # as an earlier version left it
            await changed(office, f"update archive_trees set location = {location}")
            found = await verdicts(office)
            assert [one.problem for one in found] == [None, None]
            assert all("not in the archive that DEEDBOX_ARCHIVE_URL names" in str(one.unseen) for one in found)


async def changed(office: Archivist, sql: str, **values: Any) -> None:
    await office.api.deedbox.db.write(lambda tx: tx.run(sql, **values))


async def tree_of(office: Archivist) -> Tree:
    found = await office.api.deedbox.db.read(lambda tx: store.tree(tx, 1))
    assert found is not None
    return found


async def restamped(office: Archivist, tree: Tree, token: bytes) -> None:
    """The root with another time-stamp, in archive and database."""
    root_of(office).unlink()
    forged = msgspec.structs.replace(tree, token=token)
    (office.folder / proofs.root_name(forged)).write_bytes(proofs.root_file(forged))
    location = f"file:{proofs.root_name(forged)}"
    await changed(office, "update archive_trees set token = :token, location = :at", token=token, at=location)


def forge(
    office: Archivist, document: Any, key: ManifestKey, change: Callable[[dict[str, bytes]], dict[str, bytes]]
) -> None:
    """A package in the place of the document's, whole in itself, by someone who has only this key."""
    found = change(entries(office.package(document).read_bytes()))
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in found.items() if name.startswith("data/")}
    found[package.MANIFEST] = package.manifest_of(hashes.items())
    described = ("bagit.txt", "bag-info.txt", package.MANIFEST)
    tags = package.manifest_of((name, hashlib.sha256(found[name]).hexdigest()) for name in described)
    found[package.TAG_MANIFEST] = tags
    found[package.AUTHENTICATION] = package.authentication(key, tags)
    whole, listed = b"", []
    for name, content in found.items():
        listed.append(ZipEntry(f"{document['id']}/{name}", len(content), stored_zip.crc(content)))
        whole += stored_zip.header(listed[-1]) + content
    office.package(document).write_bytes(whole + stored_zip.directory(listed))


async def receipted(office: Archivist, document: Any, **told: Any) -> None:
    """The receipt now names what lies there, and these."""
    row = await office.api.deedbox.db.read(lambda tx: store.find(tx, document["id"]))
    assert row is not None
    assert row.receipt is not None
    content = office.package(document).read_bytes()
    receipt = msgspec.structs.replace(
        row.receipt, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content), **told
    )
    text = msgspec.json.encode(receipt).decode()
    await changed(office, "update archives set receipt = :text where document_id = :id", text=text, id=document["id"])
