"""The installation's certificates: made once, kept in the box, renewed in time, revoked for good."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from deedbox.accounts import store as accounts_store
from deedbox.accounts import workspaces
from deedbox.authority import ENCRYPTED_KEYS, ROOT, Certificates
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.rotation import rotate
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

BASE = "https://sign.example.com"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring" / "master.key"
    path.parent.mkdir()
    create_key_file(path)
    return path


@pytest.fixture
def certificates(db: Database, ring: Path, clock: HandClock) -> Certificates:
    return Certificates(db, ValueCipher(ring), clock, BASE)


@pytest.fixture
async def workspace(db: Database, clock: HandClock) -> str:
    return (await db.write(lambda tx: workspaces.ensure(tx, now=clock.now()))).id


async def slots(db: Database) -> list[str]:
    return [row[0] for row in await db.read(lambda tx: tx.all("select slot from certificates where ended_at is null"))]


def names(crl: bytes) -> list[int]:
    return [one.serial_number for one in x509.load_der_x509_crl(crl)]


def numbered(crl: bytes) -> int:
    return x509.load_der_x509_crl(crl).extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


async def test_everything_is_made_on_first_need_and_then_stays(
    certificates: Certificates, db: Database, workspace: str
) -> None:
    assert await slots(db) == []
    first = await certificates.seal_identity(workspace)
    await certificates.timestamper()
    assert sorted(await slots(db)) == ["issuing", "root", f"seal:{workspace}", "timestamp"]
    assert (await certificates.seal_identity(workspace)).certificate_der == first.certificate_der
    assert first.chain_ders == (await certificates.certificate("issuing"), await certificates.certificate("root"))


async def test_another_process_sees_the_same_certificates(
    certificates: Certificates, db: Database, ring: Path, clock: HandClock, workspace: str
) -> None:
    mine = await certificates.seal_identity(workspace)
    other = Certificates(db, ValueCipher(ring), clock, BASE)
    theirs = await other.seal_identity(workspace)
    assert theirs.certificate_der == mine.certificate_der
    assert theirs.key.private_numbers() == mine.key.private_numbers()  # type: ignore[union-attr]
    assert await other.root_pem() == await certificates.root_pem()


async def test_each_workspace_has_a_seal_of_its_own_with_its_name(
    certificates: Certificates, db: Database, clock: HandClock, workspace: str
) -> None:
    await db.write(lambda tx: accounts_store.add_workspace(tx, "wsp_2", "Ärzte & Söhne", instant(clock.now())))
    one, other = await certificates.seal_identity(workspace), await certificates.seal_identity("wsp_2")
    assert one.fingerprint != other.fingerprint
    assert "Ärzte & Söhne" in x509.load_der_x509_certificate(other.certificate_der).subject.rfc4514_string()


async def test_a_workspace_that_does_not_exist_gets_no_seal(certificates: Certificates, db: Database) -> None:
    with pytest.raises(NotFound):
        await certificates.seal_identity("wsp_none")
    assert await slots(db) == []


async def test_certificates_name_the_addresses_of_their_issuer(certificates: Certificates, workspace: str) -> None:
    identity = await certificates.seal_identity(workspace)
    extensions = x509.load_der_x509_certificate(identity.certificate_der).extensions
    point = extensions.get_extension_for_class(x509.CRLDistributionPoints).value[0]
    address = str((point.full_name or [])[0].value)
    assert address.startswith(f"{BASE}/crl/crt_")
    named = address.removeprefix(f"{BASE}/crl/").removesuffix(".crl")
    assert await certificates.crl(named) == identity.crl_ders[0]


async def test_private_keys_are_nowhere_in_clear(certificates: Certificates, db: Database, workspace: str) -> None:
    await certificates.seal_identity(workspace)
    rows = await db.read(lambda tx: tx.all("select id, certificate, private_key, chain, crl from certificates"))
    assert len(rows) == 3
    for row in rows:
        assert row[2] is not None
        for value in row[1:]:
            with pytest.raises((ValueError, TypeError)):
                serialization.load_der_private_key(bytes(value or b""), None)


async def test_a_key_that_was_moved_to_another_row_does_not_open(
    certificates: Certificates, db: Database, ring: Path, clock: HandClock, workspace: str
) -> None:
    await certificates.seal_identity(workspace)

    def swap(tx: Tx) -> None:
        tx.run(
            "update certificates set private_key = (select private_key from certificates where slot = 'root')"
            " where slot like 'seal:%'"
        )

    await db.write(swap)
    with pytest.raises(ValueError, match="belongs elsewhere"):
        await Certificates(db, ValueCipher(ring), clock, BASE).seal_identity(workspace)


async def test_a_new_master_key_seals_every_private_key(
    certificates: Certificates, db: Database, ring: Path, clock: HandClock, workspace: str
) -> None:
    before = await certificates.seal_identity(workspace)
    done = await rotate(db, ring, [ENCRYPTED_KEYS], lambda _done, _total: None)
    assert (done.reencrypted, done.unreadable) == (3, 0)
    after = await Certificates(db, ValueCipher(ring), clock, BASE).seal_identity(workspace)
    assert after.certificate_der == before.certificate_der


async def test_of_many_processes_that_start_at_once_one_makes_the_root(
    postgres_url: str, ring: Path, clock: HandClock
) -> None:
    databases = [PostgresDatabase(postgres_url) for _ in range(4)]
    try:
        workspace = (await databases[0].write(lambda tx: workspaces.ensure(tx, now=clock.now()))).id
        all_of_them = [Certificates(db, ValueCipher(ring), clock, BASE) for db in databases for _ in range(3)]
        identities = await asyncio.gather(*(one.seal_identity(workspace) for one in all_of_them))
        units = await asyncio.gather(*(one.timestamper() for one in all_of_them))
        rows = await databases[0].read(lambda tx: tx.all("select slot from certificates"))
        pems = {await one.root_pem() for one in all_of_them}
    finally:
        for db in databases:
            await db.close()
    assert sorted(row[0] for row in rows) == ["issuing", "root", f"seal:{workspace}", "timestamp"]
    assert len({one.certificate_der for one in identities}) == 1
    assert len({unit.certificate_ders for unit in units}) == 1
    assert len(pems) == 1


async def test_a_seal_is_renewed_before_it_ends(
    certificates: Certificates, db: Database, clock: HandClock, workspace: str
) -> None:
    first = await certificates.seal_identity(workspace)
    clock.forward(timedelta(days=790).total_seconds())
    assert (await certificates.seal_identity(workspace)).fingerprint == first.fingerprint
    clock.forward(timedelta(days=6).total_seconds())
    second = await certificates.seal_identity(workspace)
    assert second.fingerprint != first.fingerprint
    assert second.chain_ders == first.chain_ders
    old = await db.read(lambda tx: tx.all("select private_key from certificates where ended_at is not null"))
    assert old == [(None,)]


async def test_over_forty_years_every_seal_is_good_when_it_is_made_and_nothing_piles_up(
    certificates: Certificates, db: Database, clock: HandClock, workspace: str
) -> None:
    for _ in range(40 * 4):
        clock.forward(timedelta(days=91).total_seconds())
        now = clock.now()
        identity, unit = await certificates.seal_identity(workspace), await certificates.timestamper()
        for der in (identity.certificate_der, *identity.chain_ders, *unit.certificate_ders):
            certificate = x509.load_der_x509_certificate(der)
            assert certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
        end = x509.load_der_x509_certificate(unit.certificate_ders[0]).not_valid_after_utc
        assert end - now >= timedelta(days=5 * 365)
    made = await db.read(lambda tx: tx.all("select slot, count(*) from certificates group by slot order by slot"))
    counts = {slot.partition(":")[0]: count for slot, count in made}
    assert counts["root"] == 4
    assert counts["issuing"] <= 8
    assert counts["seal"] <= 28


async def test_a_crl_is_served_as_it_is_until_half_of_its_life_is_over(
    certificates: Certificates, clock: HandClock, workspace: str
) -> None:
    await certificates.seal_identity(workspace)
    first = await certificates.crl("issuing")
    clock.forward(3.4 * 86_400)
    assert await certificates.crl("issuing") == first
    clock.forward(0.2 * 86_400)
    second = x509.load_der_x509_crl(await certificates.crl("issuing"))
    assert second.next_update_utc == clock.now() + timedelta(days=7)
    assert (numbered(first), numbered(await certificates.crl("issuing"))) == (1, 2)
    assert (await certificates.seal_identity(workspace)).crl_ders[0] != first


async def test_a_revoked_seal_is_on_the_crl_at_once_and_the_next_seal_is_another(
    certificates: Certificates, workspace: str
) -> None:
    identity = await certificates.seal_identity(workspace)
    old = await certificates.crl("issuing")
    (seal,) = [one for one in await certificates.listed() if one.use == f"seal:{workspace}"]
    ended = await certificates.revoke(seal.id, "keyCompromise")
    assert ended.status == "revoked"
    assert names(old) == []
    assert names(await certificates.crl("issuing")) == [int(seal.serial, 16)]
    following = await certificates.seal_identity(workspace)
    assert following.fingerprint != identity.fingerprint
    assert names(following.crl_ders[0]) == [int(seal.serial, 16)]
    with pytest.raises(Conflict, match="already"):
        await certificates.revoke(seal.id)


async def test_with_an_issuing_authority_goes_everything_that_it_has_issued(
    certificates: Certificates, workspace: str
) -> None:
    before = await certificates.seal_identity(workspace)
    (issuing,) = [one for one in await certificates.listed() if one.use == "issuing"]
    await certificates.revoke(issuing.id)
    assert {one.use for one in await certificates.listed() if one.status == "in use"} == {"root"}
    after = await certificates.seal_identity(workspace)
    assert after.chain_ders[0] != before.chain_ders[0]
    assert after.chain_ders[1] == before.chain_ders[1]
    assert names(await certificates.crl("root")) == [int(issuing.serial, 16)]


async def test_a_root_is_not_revoked_and_the_unknown_is_not_found(certificates: Certificates) -> None:
    await certificates.root_pem()
    (root,) = await certificates.listed()
    with pytest.raises(Conflict, match="root cannot be revoked"):
        await certificates.revoke(root.id)
    with pytest.raises(NotFound):
        await certificates.revoke("crt_none")
    for name in ("", "nothing", "timestamp", "seal"):
        with pytest.raises(NotFound):
            await certificates.crl(name)
    with pytest.raises(NotFound):
        await certificates.renew("nothing")


async def test_a_renewed_root_takes_all_below_it_along_and_the_old_one_still_publishes(
    certificates: Certificates, workspace: str
) -> None:
    before = await certificates.seal_identity(workspace)
    (old,) = [one for one in await certificates.listed() if one.use == "root"]
    await certificates.renew("root")
    after = await certificates.seal_identity(workspace)
    assert not set(before.chain_ders) & set(after.chain_ders)
    crl = x509.load_der_x509_crl(await certificates.crl(old.id))
    assert crl.is_signature_valid(x509.load_der_x509_certificate(before.chain_ders[1]).public_key())  # type: ignore[arg-type]


async def test_a_renewed_seal_replaces_the_one_before(certificates: Certificates, workspace: str) -> None:
    before = await certificates.seal_identity(workspace)
    made = await certificates.renew_seal(workspace)
    assert (await certificates.seal_identity(workspace)).fingerprint == made.fingerprint != before.fingerprint


async def test_seals_from_before_a_new_root_or_a_brought_certificate_stay_trusted(
    certificates: Certificates, clock: HandClock, workspace: str
) -> None:
    old = await certificates.certificate(ROOT)
    await certificates.renew(ROOT)
    new = await certificates.certificate(ROOT)
    trusted = await certificates.trusted(workspace)
    assert set(trusted.roots) == {old, new}
    assert old != new
    lists = [x509.load_der_x509_crl(one) for one in trusted.crls]
    assert all(one.next_update_utc and one.next_update_utc > clock.now() for one in lists)
