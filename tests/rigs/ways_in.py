"""R24: people come in each way and do each act; what evidence, certificate and API claim is held against the rows."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pypdfium2

from deedbox import words
from tests.api.signing.conftest import CODE as MAILED_CODE
from tests.api.signing.conftest import LINK, Mailing, signer
from tests.rigs.aftermath import Report

WAYS = [(link, auth) for auth in ("none", "email_code", "access_code") for link in ("mail", "embedded")]
IDENTITIES = ("mailed_link", "embedded_link", "email_code", "access_code")
CODE = "open sesame"
LANGUAGE = {"ann": "de", "bob": "en"}


class Deeds(msgspec.Struct):
    """What the rig did in someone's name, to be found in the rows, no more and no less."""

    link: str
    auth: str
    act: str
    wrong: int = 0
    pages: list[int] = []


class Rig:
    def __init__(self, office: Mailing) -> None:
        self.office = office
        self.figures = {"ways in": len(WAYS), "acts": 0, "claims": 0}
        self.faults: list[str] = []

    async def run(self) -> Report:
        """In each document one declines and another signs, both by the same way in."""
        for number, (link, auth) in enumerate(WAYS):
            await self._document(f"Deed {number}", link, auth)
        return Report(self.figures, self.faults)

    async def _document(self, title: str, link: str, auth: str) -> None:
        access = {"access_code": CODE} if auth == "access_code" else {}
        people = [signer(name, auth=auth, language=LANGUAGE[name], **access) for name in ("ann", "bob")]
        party = {"name": "Board", "rule": "any", "on_decline": "continue_while_possible", "signers": people}
        document = await self.office.create(title=title, send=True, signers=[], parties=[party])
        deeds = {
            "ann": Deeds(link, auth, "decline", wrong=1 if auth != "none" else 0),
            "bob": Deeds(link, auth, "complete", wrong=2 if auth != "none" else 0, pages=[2]),
        }
        for name, deed in deeds.items():
            await self._come(document, name, deed)
            self.figures["acts"] += 1
        await self.office.completed(document)
        for claim, holds in await self._claims(document, deeds):
            self.figures["claims"] += 1
            if not holds:
                self.faults.append(f"untrue: {title} ({link}, {auth}): {claim}")

    async def _come(self, document: Any, name: str, deed: Deeds) -> None:
        path = await self._link(document, name, deed.link)
        async with self.office.api.client() as browser:
            own = (await browser.post(path, headers={"Accept": "text/html"})).headers["location"]
            for code in await self._tries(document, name, deed):
                await browser.post(f"{own}/code", json={"code": code})
            assert (await browser.get(f"{own}/session")).json()["needs"] is None
            for page in deed.pages:
                await browser.get(f"{own}/files/{document['files'][0]['id']}/pages/{page}.webp?width=100")
            signed = {"consent": True, "signature": {"kind": "typed", "text": name.title()}}
            done = await browser.post(f"{own}/{deed.act}", json=signed if deed.act == "complete" else {})
            assert done.status_code == 200, done.text

    async def _link(self, document: Any, name: str, kind: str) -> str:
        if kind == "embedded":
            return await self.office.link(document, name)
        return await self.office.read(LINK, name, document["title"])

    async def _tries(self, document: Any, name: str, deed: Deeds) -> list[str]:
        """Wrong codes, and then the right one."""
        if deed.auth == "none":
            return []
        right = CODE
        if deed.auth == "email_code":
            right = await self.office.read(MAILED_CODE, name, document["title"])
        wrong = ["nonsense" if right == CODE else f"{(int(right) + 1) % 10**6:06}"] * deed.wrong
        return [*wrong, right]

    async def _claims(self, document: Any, deeds: dict[str, Deeds]) -> list[tuple[str, bool]]:
        """Everything that is claimed of the signers, with whether the rows bear it out."""
        path = f"/api/v1/documents/{document['id']}"
        record = (await self.office.api.get(path)).json()
        trail = (await self.office.api.get(f"{path}/audit?limit=100")).json()["audit"]
        evidence = (await self.office.api.get(f"{path}/evidence")).json()
        certificate = _text((await self.office.api.get(f"{path}/certificate")).content)
        found: list[tuple[str, bool]] = []
        told: set[str] = set()
        for shown, proved in zip(record["parties"][0]["signers"], evidence["signers"], strict=True):
            rows = [row for row in trail if row["actor"] == shown["id"]]
            name, paper = shown["name"].lower(), evidence["document"]["prepared"]["sha256"]
            told.add(_by_rows(rows))
            told |= {"embedded_link"} if any("key" in row["detail"] for row in rows) else set()
            found += _of_deeds(deeds[name], rows)
            found += self._of_identity(shown, proved, rows)
            found += _of_evidence(proved, rows, paper, LANGUAGE[name])
        return [*found, *self._of_certificate(certificate, told)]

    def _of_identity(self, shown: Any, proved: Any, rows: list[Any]) -> Iterator[tuple[str, bool]]:
        told = _by_rows(rows)
        yield f"the API says {shown['identity']}, the rows {told}", shown["identity"] == told
        yield f"the evidence says {proved['identity']}, the rows {told}", proved["identity"] == told
        embedded = any(row["act"] == "signer.link_opened" and "key" in row["detail"] for row in rows)
        key = {"key_id": self.office.api.key.id, "key_name": "test"} if embedded else None
        yield f"the evidence lets {proved['vouched_by']} vouch", proved["vouched_by"] == key

    def _of_certificate(self, certificate: str, told: set[str]) -> Iterator[tuple[str, bool]]:
        """It says of the signers what the rows tell, and nothing of another way in."""
        key = f"test ({self.office.api.key.id})"
        for identity in IDENTITIES:
            sentence = words.table("en")[f"certificate.identity.{identity}"].format(key=key)
            said = _plain(sentence) in certificate
            yield f"the certificate {'says' if said else 'does not say'}: {sentence}", said == (identity in told)


def _by_rows(rows: list[Any]) -> str:
    """How identity was checked, by what the trail tells of the one session there was."""
    codes = [row["detail"]["auth"] for row in rows if row["act"] == "signer.code_right"]
    [opened] = [row["detail"]["link"] for row in rows if row["act"] == "signer.link_opened"]
    return str(codes[0]) if codes else {"mail": "mailed_link", "embedded": "embedded_link"}[opened]


def _of_deeds(deed: Deeds, rows: list[Any]) -> Iterator[tuple[str, bool]]:
    """The rows are what was done: each opening, each code, each page, and the act."""
    acts = [row["act"] for row in rows]
    done = ["signer.link_opened", *["signer.code_wrong"] * deed.wrong]
    done += ["signer.code_right"] if deed.auth != "none" else []
    done += ["signer.viewed", *["signer.page_viewed"] * len(deed.pages)]
    done.append("signer.signed" if deed.act == "complete" else "signer.declined")
    yield f"{deed} is told as {acts}", acts == done
    yield "the opening is told with another link", rows[0]["detail"]["link"] == deed.link
    yield (
        "pages are told that were not served",
        [row["detail"]["page"] for row in rows if row["act"] == "signer.page_viewed"] == deed.pages,
    )


def _of_evidence(proved: Any, rows: list[Any], paper: str, language: str) -> Iterator[tuple[str, bool]]:
    last = rows[-1]
    yield "the evidence has another address", proved["address"] == last["detail"]["address"]
    yield "the evidence has another program", proved["user_agent"] == last["detail"]["user_agent"]
    pages = [row["detail"]["page"] for row in rows if row["act"] == "signer.page_viewed"]
    yield "pages are claimed that were not served", proved["seen_pages"] == pages
    yield "a file is claimed that was not served", proved["seen_sha256"] == (paper if pages else None)
    signed = last["act"] == "signer.signed"
    consent = proved["consent"] or {"text": None, "at": None}
    said = (words.table(language)["consent"], last["at"]) if signed else (None, None)
    yield "the consent is not what was shown when they signed", (consent["text"], consent["at"]) == said


def _text(pdf: bytes) -> str:
    with pypdfium2.PdfDocument(pdf) as opened:
        return _plain(" ".join(page.get_textpage().get_text_range() for page in opened))


def _plain(text: str) -> str:
    """Without white space and hyphens: where lines break is not what is said."""
    return re.sub(r"[\s\u0002\ufffe-]+", "", text)
