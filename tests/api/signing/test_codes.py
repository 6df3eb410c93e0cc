"""Codes of signers: what is kept of them, and that none opens but the one that holds."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.signing import limits as signing_limits
from deedbox.signing import sessions
from deedbox.signing.new_document import DocumentChange
from deedbox.signing.parties import find_signer
from deedbox.signing.store import documents
from deedbox.web.api_v1.documents import NewDocumentBody
from tests.api.answers import faults
from tests.api.signing.conftest import CODE, Mailing, Office, signer

pytestmark = pytest.mark.anyio

PATH = "/api/v1/documents"


def coded(name: str, code: str) -> dict[str, Any]:
    return signer(name, auth="access_code", access_code=code)


def first_signer(document: Any) -> str:
    return str(document["parties"][0]["signers"][0]["id"])


async def hashes(office: Office) -> list[str]:
    return [row[0] for row in await office.api.rows("select access_code_hash from signers")]


async def test_an_access_code_is_kept_as_an_argon2_hash_and_never_shown(office: Office, tmp_path: Path) -> None:
    people = [coded("ann", "open Sesame"), coded("bob", "other words")]
    documents = [await office.create(signers=people, send=True) for _ in range(2)]
    found = await hashes(office)
    assert [one[:10] for one in found] == ["$argon2id$"] * 4
    assert len(set(found)) == 4, "each has a salt of its own"
    path = f"{PATH}/{documents[0]['id']}"
    said = repr([documents, (await office.api.get(path)).text, (await office.api.get(f"{path}/audit")).text])
    files = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for code in ("open Sesame", "other words"):
        assert (code in said, code.encode() in files) == (False, False)


async def test_two_who_have_the_same_code_have_hashes_of_their_own(office: Office) -> None:
    document = await office.create(signers=[coded("ann", "open sesame"), coded("bob", "open sesame")], send=True)
    assert len(set(await hashes(office))) == 2
    for name in ("ann", "bob"):
        async with office.session(document, name) as browser:
            assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 200


async def test_two_who_share_an_address_have_codes_of_their_own(office: Office) -> None:
    people = [coded("ann", "open sesame"), coded("ann", "other words") | {"name": "Bea"}]
    document = await office.create(signers=people, send=True)
    ids = [party["signers"][0]["id"] for party in document["parties"]]
    for one, right, wrong in ((ids[0], "open sesame", "other words"), (ids[1], "other words", "open sesame")):
        async with office.session(document, one) as browser:
            assert (await browser.post("/code", json={"code": wrong})).status_code == 403
            assert (await browser.post("/code", json={"code": right})).status_code == 200


async def test_nothing_that_is_printed_shows_a_code_or_a_password() -> None:
    parties = [{"name": "Tenant", "signers": [coded("ann", "open sesame")]}]
    file = {"name": "a.pdf", "content_base64": "JVBERi0=", "password": "open sesame"}
    new = {"title": "Lease", "signers": [coded("ann", "open sesame")], "parties": parties, "file": file}
    change = {"parties": parties, "files": [{"id": "fil_1", "password": "open sesame"}]}
    read = (msgspec.convert(new, NewDocumentBody), msgspec.convert(change, DocumentChange))
    codes = await sessions.hashed_codes(read[0].parties)
    shown = repr((read, codes))
    assert ("sesame" in shown, shown.count("ann@example.com")) == (False, 4)


async def test_the_code_of_a_draft_that_was_changed_is_kept_so_too(office: Office) -> None:
    draft = await office.create(signers=[coded("ann", "open sesame")])
    change = {"parties": [{"name": "Ann", "signers": [coded("ann", "another code")]}]}
    changed = await office.api.call("PATCH", f"{PATH}/{draft['id']}", json=change)
    assert changed.status_code == 200, changed.text
    assert [one[:10] for one in await hashes(office)] == ["$argon2id$"]
    assert (await office.api.post(f"{PATH}/{draft['id']}/send")).status_code == 200
    async with office.session(changed.json(), "ann") as browser:
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 403
        assert (await browser.post("/code", json={"code": "another code"})).status_code == 200


async def test_spaces_around_an_access_code_do_not_matter_and_do_not_count(office: Office) -> None:
    document = await office.create(signers=[coded("ann", " open sesame ")], send=True)
    async with office.session(document, "ann") as browser:
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 200
    short = await office.api.post(PATH, office.body(signers=[coded("ann", " ab ")]))
    assert faults(PATH, short, 400) == []
    assert "access_code must have at least 4 characters" in short.json()["error"]


async def test_a_mailed_code_is_kept_as_an_argon2_hash(mailing: Mailing) -> None:
    document = await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    async with mailing.session(document, "ann") as browser:
        code = await mailing.read(CODE, "ann", "Lease")
        [(kept,)] = await mailing.api.rows("select code_hash from signer_codes")
        assert kept.startswith("$argon2id$")
        assert (await browser.post("/code", json={"code": code})).status_code == 200


async def test_a_code_that_was_replaced_while_it_was_looked_at_does_not_open(mailing: Mailing) -> None:
    document = await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    async with mailing.session(document, "ann"):
        code = await mailing.read(CODE, "ann", "Lease")
    [(kept,)] = await mailing.api.rows("select code_hash from signer_codes")
    tried = await sessions.try_code(kept, code)
    now = mailing.api.clock.now()

    def check(tx: Tx) -> bool:
        packet = documents.packet_of(tx, mailing.api.workspace, document["id"])
        assert packet is not None
        _, ann = find_signer(packet, first_signer(document))
        return sessions.check_code(tx, "deed_session_x", ann, tried, now=now)

    assert (tried.right, await mailing.api.deedbox.db.write(check)) == (True, True)
    other = await sessions.fresh_code()
    mailing.api.clock.forward(signing_limits.SIGNER_CODE_AGAIN_SECONDS + 1)
    now = mailing.api.clock.now()
    signer_id = first_signer(document)
    assert await mailing.api.deedbox.db.write(lambda tx: sessions.keep_code(tx, signer_id, other, now=now))
    assert await mailing.api.deedbox.db.write(check) is False


async def test_a_corrected_address_gives_no_new_tries_at_a_mailed_code(mailing: Mailing) -> None:
    document = await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    async with mailing.session(document, "ann") as browser:
        for _ in range(limits.SIGNER_CODE_TRIES):
            assert (await browser.post("/code", json={"code": "no code"})).status_code == 403
    correction = {"signers": [{"id": first_signer(document), "email": "anna@example.com"}]}
    changed = await mailing.api.call("PATCH", f"{PATH}/{document['id']}", json=correction)
    assert changed.status_code == 200
    async with mailing.session(changed.json(), "anna") as browser:
        code = await mailing.read(CODE, "anna", "Lease")
        assert (await browser.post("/code", json={"code": code})).status_code == 429
