"""The public page that verifies a file: every verdict, nothing kept, and no more than ten a minute."""

import ast
import html
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

import deedbox
from deedbox import i18n
from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from deedbox.web.public import reasons
from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.test_entry import HTML
from tests.pdf.pki import Authority
from tests.pdf.sealed import document as paper
from tests.pdf.sealed import sealed as sealed_by
from tests.pdf.sealed import with_lists

pytestmark = pytest.mark.anyio


async def checked(office: Office, data: bytes, **headers: str) -> httpx.Response:
    files = {"file": ("lease.pdf", data, "application/pdf")}
    address = headers.pop("address", "127.0.0.1")
    return await office.api.call("POST", "/verify", key=None, files=files, headers={**HTML, **headers}, address=address)


async def made(office: Office, what: str = "signed") -> bytes:
    document = await office.sealed()
    return (await office.api.get(f"/api/v1/documents/{document['id']}/{what}")).content


@pytest.mark.one_database
async def test_each_verdict_is_one_sentence_with_icon_and_word(office: Office) -> None:
    document = await office.sealed()
    sealed, certificate = [
        (await office.api.get(f"/api/v1/documents/{document['id']}/{what}")).content
        for what in ("signed", "certificate")
    ]
    office.api.clock.forward(8 * 86_400)  # when there is another revocation list than the one in the file
    files = {
        "authentic": sealed,
        "certificate": certificate,
        "extended": with_lists(sealed, await office.api.deedbox.certificates.crl("issuing")),
        "altered": sealed.replace(b"%PDF-1.7", b"%PDF-1.6", 1),
        "unsigned": LEASE,
        "unrecognised": sealed_by(Authority("Elsewhere"), paper()),
        "unexplained": b"%PDF-1.7\nThis is no PDF.",
    }
    say = i18n.of_use("en", "verify")
    for verdict, data in files.items():
        answer = await checked(office, data)
        sentence = say[f"verdict.{verdict}"].format(date="1 March 2026")
        assert (answer.status_code, sentence in answer.text) == (200, True), (verdict, answer.text)
        word = say["word.authentic" if verdict == "certificate" else f"word.{verdict}"]
        assert f">{word}</span>" in answer.text, verdict
        assert ("Ann" in answer.text) == (verdict in ("authentic", "certificate", "extended")), verdict
        assert "ann@" not in answer.text
        assert "pdfsig file.pdf" in answer.text


@pytest.mark.one_database
async def test_page_and_api_say_the_same(office: Office) -> None:
    sealed = await made(office)
    for data in (sealed, sealed[:-1] + b" ", LEASE):
        api = await office.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", data)})
        page = await checked(office, data)
        assert i18n.of_use("en", "verify")[f"word.{api.json()['verdict']}"] in page.text
        assert api.json()["sha256"] in page.text


@pytest.mark.one_database
async def test_the_verdict_and_its_checks_are_told_in_eight_languages(office: Office) -> None:
    told = ("verdict.unexplained", "word.unexplained", "check.audit_chain", "passed.none", "openssl_how", "another")
    for language in i18n.LANGUAGES:
        say = i18n.of_use(language, "verify")
        answer = await checked(office, b"%PDF-1.7\nThis is no PDF.", **{"Accept-Language": language})
        assert [name for name in told if say[name].replace("'", "&#39;") not in answer.text] == [], language


async def test_nothing_of_a_checked_file_is_kept(office: Office, tmp_path: Path) -> None:
    # Else the sealed document is taken into the library meanwhile.
    await office.api.call("PATCH", "/api/v1/workspace", json={"search_documents": False})
    sealed = await made(office)

    def stored() -> list[str]:
        return sorted(str(path) for path in tmp_path.rglob("*") if path.is_file() and ".sqlite" not in path.name)

    counts = "select (select count(*) from blobs), (select count(*) from audit), (select count(*) from events)"
    before = (stored(), await office.api.rows(counts))
    for data in (sealed, LEASE + b"\n%another", b"This is no PDF."):
        assert (await checked(office, data)).status_code == 200
    assert (stored(), await office.api.rows(counts)) == before


@pytest.mark.one_database
async def test_an_address_has_ten_files_checked_a_minute_and_then_is_told_to_wait(office: Office) -> None:
    answers = [await checked(office, b"no", address="127.0.0.8") for _ in range(web_limits.VERIFY_PER_MINUTE + 1)]
    assert [answer.status_code for answer in answers] == [200] * web_limits.VERIFY_PER_MINUTE + [429]
    assert answers[-1].headers["content-type"].startswith("text/html")
    assert int(answers[-1].headers["retry-after"]) <= 60
    assert (await checked(office, b"no", address="127.0.0.7")).status_code == 200
    shown = await office.api.call("GET", "/verify", key=None, address="127.0.0.8", headers=HTML)
    assert shown.status_code == 200, "looking is counted apart"
    office.api.clock.forward(60)
    assert (await checked(office, b"no", address="127.0.0.8")).status_code == 200


@pytest.mark.one_database
async def test_what_cannot_be_checked_is_said_beside_the_file(office: Office) -> None:
    nothing = await office.api.call(
        "POST", "/verify", key=None, files={"file": ("", b"", "application/octet-stream")}, headers=HTML
    )
    assert (nothing.status_code, "Choose a file first." in nothing.text) == (400, True)
    large = {"Content-Length": str(limits.UPLOAD_BYTES * 2)}
    answer = await checked(office, LEASE, **large)
    assert (answer.status_code, "larger than 50 MB" in answer.text) == (413, True)
    foreign = await checked(office, LEASE, **{"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403


@pytest.mark.one_database
async def test_the_address_chooses_the_language_and_every_way_on_keeps_it(office: Office) -> None:
    document = await office.sealed()
    code = (await office.document(document["id"]))["verification_code"]
    english = {**HTML, "Accept-Language": "en"}
    for address, said in (("/verify", "Dokument prüfen"), (f"/verify/{code}", "So prüfen Sie Ihre Datei ohne uns")):
        assert said not in (await office.api.get(address, key=None, headers=english)).text
        page = (await office.api.get(f"{address}?lang=de", key=None, headers=english)).text
        assert said in page
        assert '<html lang="de"' in page
        assert f'href="{address}?lang=ar" lang="ar"' in page
        assert 'action="/verify?lang=de"' in page
    found = await office.api.get(f"/verify?code={code}&lang=de", key=None, headers=english)
    assert (found.status_code, found.headers["location"]) == (303, f"/verify/{code}?lang=de")
    assert '<html lang="en"' in (await office.api.get("/verify?lang=xx", key=None, headers=english)).text
    files = {"file": ("lease.pdf", LEASE, "application/pdf")}
    verdict = await office.api.call("POST", "/verify?lang=de", key=None, files=files, headers=english)
    assert 'href="/verify?lang=de"' in verdict.text
    assert i18n.of_use("de", "verify")["verdict.unsigned"] in verdict.text


@pytest.mark.one_database
async def test_the_reasons_of_a_verdict_are_told_in_the_reader_s_language(office: Office) -> None:
    sealed = await made(office)
    altered = sealed.replace(b"%PDF-1.7", b"%PDF-1.6", 1)
    stranger = sealed_by(Authority("Elsewhere"), paper())
    for number, language in enumerate(i18n.LANGUAGES, 1):
        say, reader = i18n.of_use(language, "reason"), {"Accept-Language": language, "address": f"127.0.0.{number}"}
        for data, name in ((altered, "unfit"), (stranger, "no_root")):
            page = html.unescape((await checked(office, data, **reader)).text)
            assert say[name] in page, (language, name)
            assert (i18n.of_use("en", "reason")[name] in page) == (language == "en"), (language, name)
        page = html.unescape((await checked(office, sealed + b"\n", **reader)).text)
        assert say["beginning"].format(size=len(sealed)) in page, language


def constants() -> list[str]:
    """Every text that stands in the files that judge a sealed one."""
    root = Path(deedbox.__file__).parent
    files = [*(root / "pdf").rglob("*.py"), root / "signing" / "completion" / "verify_sealed.py"]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def test_every_reason_that_has_words_is_one_that_is_given() -> None:
    given = "\n".join(constants())
    for name, sentence in i18n.of_use("en", "reason").items():
        known = name in reasons.OWN or sentence.rstrip(".").removesuffix("{at}") in given
        # A time-stamp that was added or taken away is one sentence with two words.
        assert known or name in ("stamp_added", "stamp_removed"), name


def test_what_only_experts_understand_stands_beside_a_sentence() -> None:
    say = i18n.of_use("de", "reason")
    assert reasons.translate("The timestamp was added: the seal says that it has none.", "de") == (
        say["stamp_added"], "the seal says that it has none",
    )  # fmt: skip
    assert (
        reasons.translate("Signature1: The signature cannot be read.", "de").said == f"Signature1: {say['unreadable']}"
    )
    assert reasons.translate("Seal: A length is longer than it needs to be.", "de").said == say["technical"]
    assert reasons.translate("A document timestamp from 2026-05-03T14:05:00Z.", "de").said == (
        "Ein Dokument-Zeitstempel vom 3. Mai 2026, 14:05 UTC."
    )
    assert reasons.translate("Anything at all", "en") == ("Anything at all", "")


@pytest.mark.one_database
async def test_file_that_is_no_pdf_is_called_that_on_the_page(office: Office) -> None:
    for number, language in enumerate(i18n.LANGUAGES, 1):
        say, reader = i18n.of_use(language, "verify"), {"Accept-Language": language, "address": f"127.0.1.{number}"}
        page = html.unescape((await checked(office, b"PK\x03\x04 a text document", **reader)).text)
        for name in ("word.not_pdf", "verdict.not_pdf"):
            assert say[name] in page, (language, name)
        assert say["verdict.unexplained"] not in page
    damaged = (await checked(office, LEASE[: len(LEASE) // 2], address="127.0.1.99")).text
    assert i18n.of_use("en", "verify")["word.not_pdf"] not in damaged


@pytest.mark.one_database
async def test_code_is_found_however_it_is_typed(office: Office) -> None:
    document = await office.sealed()
    code = (await office.document(document["id"]))["verification_code"]
    plain, wide = code.replace("-", ""), "".join(chr(ord(one) + 0xFEE0) for one in code)
    typed = [code.lower(), plain, plain.lower(), code.replace("-", " "), code.replace("-", "\u2013"), wide]
    typed += [f" {code} ", " ".join(plain), code.replace("-", "\u2011"), code.replace("-", "."), code.title()]
    for one in typed:
        page = await office.api.get(f"/verify/{quote(one, safe='')}", key=None, headers=HTML)
        api = await office.api.get(f"/api/v1/verify/{quote(one, safe='')}", key=None)
        assert (page.status_code, api.status_code, api.json().get("code")) == (200, 200, code), one
    for other in (plain[:-1], f"{plain}2", plain[::-1], "-"):
        assert (await office.api.get(f"/api/v1/verify/{other}", key=None)).status_code == 404, other
