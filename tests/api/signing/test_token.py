"""A server whose seal key is in a token: documents wait for the token, and lose nothing by it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.crypto import Secret
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.authority.softhsm import LABEL, PIN, SoftHsm
from tests.authority.test_pkcs12 import above, brought
from tests.conftest import HandClock
from tests.pdf import issued as foreign
from tests.pdf.oracles import GOOD, pdfsig

pytestmark = pytest.mark.anyio


@pytest.fixture
def hsm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SoftHsm:
    made, own = SoftHsm(tmp_path / "hsm", monkeypatch), brought(foreign.keys()["P-256"])
    made.put_key(own.key)
    made.put_certificates([own.certificate, *above()])
    return made


@pytest.fixture
async def office(database_url: str, tmp_path: Path, clock: HandClock, hsm: SoftHsm) -> AsyncIterator[Office]:
    clock.time = foreign.NOW
    settings: dict[str, Any] = {
        "pkcs11_module": hsm.module,
        "pkcs11_token": LABEL,
        "pkcs11_key": "seal",
        "pkcs11_pin": Secret(PIN),
    }
    async with opened(database_url, tmp_path / "data", clock, **settings) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield Office(made)
        finally:
            await made.deedbox.stop()


async def test_documents_are_sealed_by_the_token_and_verify_here(office: Office, tmp_path: Path) -> None:
    document = await office.sealed()
    assert (document["seal"]["level"], document["seal"]["degraded"]) == ("B-T", False)
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    assert pdfsig(sealed, foreign.installation().root.der, tmp_path) == GOOD
    report = (await office.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", sealed)})).json()
    assert (report["verdict"], report["document_id"]) == ("authentic", document["id"])


async def test_while_the_token_is_away_a_document_stays_finalizing_says_why_and_is_completed_later(
    office: Office, hsm: SoftHsm
) -> None:
    document = await office.create(send=True)
    hsm.goes_away()
    assert (await office.sign(document, "ann")).status_code == 200
    async with asyncio.timeout(60):
        while (waiting := await office.document(document["id"]))["error"] is None:
            await asyncio.sleep(0.05)
    assert (waiting["status"], waiting["progress"]["signers_signed"]) == ("finalizing", 1)
    assert "no token with the label 'Deeds'" in waiting["error"]
    assert (await office.api.get("/api/v1/documents")).status_code == 200
    hsm.comes_back()
    office.api.clock.forward(60)
    office.api.deedbox.jobs.wake()
    assert (await office.completed(document))["error"] is None
