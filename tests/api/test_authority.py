"""Anyone may have the CRLs and the root, and whoever has a key for it a time-stamp: within bounds, and counted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509

from deedbox.pdf.seal import timestamp
from deedbox.web import limits
from tests.api.answers import faults
from tests.api.conftest import Api, opened
from tests.conftest import HandClock
from tests.pdf.oracles import said

pytestmark = pytest.mark.anyio


async def ask(api: Api, query: bytes, kind: str = timestamp.QUERY_TYPE, **more: Any) -> httpx.Response:
    return await api.call("POST", "/tsa", content=query, headers={"Content-Type": kind}, **more)


async def test_openssl_verifies_a_time_stamp_with_the_root_that_is_served(api: Api, tmp_path: Path) -> None:
    api.clock.time = datetime.now(UTC)  # openssl knows no other
    folder = tmp_path / "openssl"
    folder.mkdir()
    (folder / "file").write_bytes(b"agreed")
    said("openssl", "ts", "-query", "-data", "file", "-sha256", "-cert", "-out", "q", folder=folder)
    root, stamped = await api.get("/ca.pem", key=None), await ask(api, (folder / "q").read_bytes())
    assert (root.status_code, root.headers["content-type"]) == (200, "application/x-pem-file")
    assert (stamped.status_code, stamped.headers["content-type"]) == (200, timestamp.REPLY_TYPE)
    (folder / "root.pem").write_bytes(root.content)
    (folder / "r").write_bytes(stamped.content)
    words = ["-queryfile", "q", "-in", "r", "-CAfile", "root.pem"]
    assert "Verification: OK" in said("openssl", "ts", "-verify", *words, folder=folder)


async def test_a_query_that_makes_no_sense_is_rejected_in_the_language_of_the_protocol(api: Api) -> None:
    answer = await ask(api, b"nonsense")
    assert (answer.status_code, answer.headers["content-type"]) == (200, timestamp.REPLY_TYPE)
    with pytest.raises(ValueError, match="refused"):
        timestamp.parse_response(answer.content, bytes(32), b"")


async def test_a_query_of_another_kind_an_empty_and_a_large_one_are_refused(api: Api) -> None:
    for kind in ("application/json", ""):
        assert faults("/tsa", await ask(api, b"x", kind), 415) == []
    for query in (b"", bytes(limits.TSA_QUERY_BYTES + 1)):
        assert faults("/tsa", await ask(api, query), 400) == []
    assert (await ask(api, bytes(limits.TSA_QUERY_BYTES), f"{timestamp.QUERY_TYPE}; charset=x")).status_code == 200


async def test_a_time_stamp_needs_a_key_with_the_scope_of_verification(api: Api) -> None:
    query = timestamp.query(bytes(32), b"n")
    refused = await ask(api, query, key=None)
    assert faults("/tsa", refused, 401) == []
    without = await ask(api, query, key=await api.make_key("documents:read"))
    assert (without.status_code, "verify:read" in without.json()["error"]) == (403, True)
    assert (await ask(api, query, key=await api.make_key("verify:read"))).status_code == 200


async def test_with_tsa_public_everybody_gets_time_stamps_counted_by_address(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock, tsa_public=True) as api:
        await api.settle()
        api.guard.anonymous = type(api.guard.anonymous)(per_minute=2, per_day=None)
        query = timestamp.query(bytes(32), b"n")
        assert [(await ask(api, query, key=None)).status_code for _ in range(3)] == [200, 200, 429]
        assert (await ask(api, query, key=None, address="127.0.0.9")).status_code == 200
        described = (await api.get("/openapi.json", key=None)).json()["paths"]["/tsa"]["post"]
        assert not described.get("security")


async def test_the_revocation_lists_and_the_authorities_are_served_in_der(api: Api) -> None:
    for name in ("root", "issuing"):
        crl = await api.get(f"/crl/{name}.crl", key=None)
        certificate = await api.get(f"/ca/{name}.cer", key=None)
        assert crl.headers["content-type"] == "application/pkix-crl"
        assert certificate.headers["content-type"] == "application/pkix-cert"
        issuer = x509.load_der_x509_certificate(certificate.content)
        assert x509.load_der_x509_crl(crl.content).is_signature_valid(issuer.public_key())  # type: ignore[arg-type]


async def test_the_root_that_is_served_is_the_one_that_is_named(api: Api) -> None:
    pem = await api.get("/ca.pem", key=None)
    named = await api.get("/ca/root.cer", key=None)
    assert x509.load_pem_x509_certificate(pem.content) == x509.load_der_x509_certificate(named.content)


@pytest.mark.parametrize("path", ["/crl/none.crl", "/crl/root", "/crl/timestamp.crl", "/ca/none.cer", "/ca/root.pem"])
async def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    assert faults(path, await api.get(path, key=None), 404) == []


async def test_a_wrong_key_does_not_close_what_is_open(api: Api) -> None:
    for path in ("/ca.pem", "/crl/root.crl"):
        assert (await api.get(path, key="nonsense")).status_code == 200
