"""R24: people come in each way and do each act; what evidence, certificate and API claim is held against the rows."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import msgspec
import pypdfium2

from deedbox import i18n
from deedbox.accounts import workspaces
from tests.api.signing.conftest import CODE as MAILED_CODE
from tests.api.signing.conftest import LINK, Mailing, signer
from tests.faults.aftermath import Report

WAYS = [(link, auth) for auth in ("none", "email_code", "access_code") for link in ("mail", "embedded", "in_person")]
FEW = [("mail", "email_code"), ("embedded", "none"), ("in_person", "access_code")]
"""Each link and each code once."""
IDENTITIES = ("mailed_link", "kept_link", "embedded_link", "in_person", "email_code", "access_code")
ROW = {"complete": "signed", "approve": "approved", "decline": "declined", "delegate": "delegated"}
"""The row that each act leaves."""
HOST = {"name": "Hal", "email": "hal@example.com", "password": "a long password"}
WRONG = "bea"
"""To whom the document of Bob was sent at first."""
CODE = "open sesame"
LANGUAGE = {"ann": "de", "bob": "en", "cem": "fr", "dan": "ja"}
CONSENT = {"complete": "consent", "approve": "consent_approver"}


class Deeds(msgspec.Struct):
    """What the fault test did in someone's name, to be found in the rows, no more and no less."""

    link: str
    auth: str
    act: str
    wrong: int = 0
    pages: list[int] = []


class Scenario:
    def __init__(self, office: Mailing) -> None:
        self.office = office
        self.figures = {"ways in": len(WAYS), "acts": 0, "claims": 0}
        self.faults: list[str] = []

    async def run(self, ways: Sequence[tuple[str, str]] = WAYS) -> Report:
        """In each document one declines, one passes it on, one approves and one signs, all by the same way in.

        What the last one has to sign went to someone else at first, who looked at it until that was corrected."""
        for number, (link, auth) in enumerate(ways):
            await self._document(f"Deed {number}", link, auth)
        return Report(self.figures, self.faults)

    async def _document(self, title: str, link: str, auth: str) -> None:
        access = {"access_code": CODE} if auth == "access_code" else {}
        deeds = {
            "ann": Deeds(link, auth, "decline", wrong=1 if auth != "none" else 0),
            "dan": Deeds(link, auth, "delegate"),
            "cem": Deeds(link, auth, "approve", pages=[1]),
            "bob": Deeds(link, auth, "complete", wrong=2 if auth != "none" else 0, pages=[2]),
        }
        if auth == "access_code":  # which was agreed with one person, and cannot be passed on
            del deeds["dan"]
        may: dict[str, dict[str, Any]] = {"cem": {"role": "approver"}, "dan": {"delegation": True}}
        people = [
            signer(WRONG if name == "bob" else name, auth=auth, language=LANGUAGE[name], **access, **may.get(name, {}))
            for name in deeds
        ]
        rules = {"rule": "quorum", "quorum": 2, "on_decline": "continue_while_possible"}
        party = {"name": "Board", **rules, "signers": people}
        document = await self.office.create(title=title, send=True, signers=[], parties=[party])
        await self._come(document, WRONG, Deeds(link, auth, "look", pages=[1]))
        document = await self._corrected(document)
        for name, deed in deeds.items():
            await self._come(document, name, deed)
            self.figures["acts"] += 1
        await self.office.completed(document)
        for claim, holds in await self._claims(document, deeds):
            self.figures["claims"] += 1
            if not holds:
                self.faults.append(f"untrue: {title} ({link}, {auth}): {claim}")

    async def _come(self, document: Any, name: str, deed: Deeds) -> None:
        async with self.office.api.client() as browser:
            path = await self._way(browser, document, name, deed.link)
            own = (await browser.post(path, headers={"Accept": "text/html"})).headers["location"]
            for code in await self._tries(document, name, deed):
                await browser.post(f"{own}/code", json={"code": code})
            assert (await browser.get(f"{own}/session")).json()["needs"] is None
            for page in deed.pages:
                await browser.get(f"{own}/files/{document['files'][0]['id']}/pages/{page}.webp?width=100")
            bodies = {
                "complete": {"consent": True, "signature": {"kind": "typed", "text": name.title()}},
                "approve": {"consent": True},
                "delegate": {"name": "Eve", "email": "eve@example.com"},
            }
            if deed.act == "look":
                return
            verb = "complete" if deed.act == "approve" else deed.act
            done = await browser.post(f"{own}/{verb}", json=bodies.get(deed.act, {}))
            assert done.status_code == 200, done.text

    async def _corrected(self, document: Any) -> Any:
        """The document with Bob in the place of whom it was sent to."""
        [wrong] = [one["id"] for one in document["parties"][0]["signers"] if one["name"] == WRONG.title()]
        path, right = f"/api/v1/documents/{document['id']}", signer("bob")
        changed = await self.office.api.call("PATCH", f"{path}/signers/{wrong}", json=right)
        assert changed.status_code == 200, changed.text
        return (await self.office.api.get(path)).json()

    async def _way(self, browser: httpx.AsyncClient, document: Any, name: str, kind: str) -> str:
        """What is pressed to come in; in person, the host has signed in on the same device."""
        if kind == "embedded":
            return await self.office.link(document, name)
        if kind == "in_person":
            api, now = self.office.api, self.office.api.clock.now()
            token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
            await browser.post(f"/login/{token.reveal()}")
            if 'name="current_password"' not in (await browser.get("/account")).text:
                await browser.post("/account", data=HOST)
            people = [one for party in document["parties"] for one in party["signers"]]
            [signer_id] = [one["id"] for one in people if one["name"] == name.title()]
            return f"/app/documents/{document['id']}/signers/{signer_id}/in-person"
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
            rows = [row for row in _since_corrected(trail, shown["id"]) if row["actor"] == shown["id"]]
            name, paper = shown["name"].lower(), evidence["document"]["prepared"]["sha256"]
            if name not in deeds:
                found += _of_who_never_came(shown, proved, rows)
                continue
            told.add(_by_rows(rows))
            told |= {"embedded_link"} if any("key" in row["detail"] for row in rows) else set()
            told |= {"in_person"} if any("host" in row["detail"] for row in rows) else set()
            found += _of_deeds(deeds[name], rows)
            found += self._of_identity(shown, proved, rows)
            viewed = [row["at"] for row in rows if row["act"] == "signer.viewed"]
            found.append((f"{name} is said to have looked at {shown['viewed_at']}", [shown["viewed_at"]] == viewed))
            found += _of_evidence(proved, rows, paper, i18n.table(LANGUAGE[name]).get(CONSENT.get(deeds[name].act, "")))
        hosts = [row["detail"]["host"] for row in trail if row["act"] == "signer.handed_over"]
        handed_over = [deed.link for deed in deeds.values()].count("in_person")
        handed_over += 1 if handed_over else 0  # to the wrong one, at first
        found.append(("a hand-over has no row", len(hosts) == handed_over))
        found.append(("the certificate hides who looked before the correction", WRONG.title() in certificate))
        host = f"{hosts[0]['name']} ({hosts[0]['id']})" if hosts else "nobody"
        return [*found, *self._of_certificate(certificate, told, host)]

    def _of_identity(self, shown: Any, proved: Any, rows: list[Any]) -> Iterator[tuple[str, bool]]:
        told = _by_rows(rows)
        yield f"the API says {shown['identity']}, the rows {told}", shown["identity"] == told
        yield f"the evidence says {proved['identity']}, the rows {told}", proved["identity"] == told
        embedded = any(row["act"] == "signer.link_opened" and "key" in row["detail"] for row in rows)
        key = {"key_id": self.office.api.key.id, "key_name": "test"} if embedded else None
        yield f"the evidence lets {proved['vouched_by']} vouch", proved["vouched_by"] == key
        hosts = [
            row["detail"]["host"] for row in rows if row["act"] == "signer.link_opened" and "host" in row["detail"]
        ]
        host = {"person_id": hosts[0]["id"], "name": hosts[0]["name"]} if hosts else None
        yield f"the evidence names {proved['hosted_by']} as host", proved["hosted_by"] == host

    def _of_certificate(self, certificate: str, told: set[str], host: str) -> Iterator[tuple[str, bool]]:
        """It says of the signers what the rows tell, and nothing of another way in."""
        key = f"test ({self.office.api.key.id})"
        for identity in IDENTITIES:
            sentence = i18n.table("en")[f"certificate.identity.{identity}"].format(key=key, host=host)
            said = _plain(sentence) in certificate
            yield f"the certificate {'says' if said else 'does not say'}: {sentence}", said == (identity in told)


def _since_corrected(trail: list[Any], signer_id: str) -> list[Any]:
    """The rows after the correction, which are those of the right person."""
    at = [
        position
        for position, row in enumerate(trail)
        if row["act"] == "signer.corrected" and row["detail"]["signer"] == signer_id
    ]
    return trail[at[0] + 1 :] if at else trail


def _by_rows(rows: list[Any]) -> str:
    """How identity was checked, by what the trail tells of the one session there was."""
    codes = [row["detail"]["auth"] for row in rows if row["act"] == "signer.code_right"]
    [opened] = [row["detail"]["link"] for row in rows if row["act"] == "signer.link_opened"]
    by_link = {"mail": "mailed_link", "kept": "kept_link", "embedded": "embedded_link"}
    return str(codes[0]) if codes else by_link.get(opened, opened)


def _of_deeds(deed: Deeds, rows: list[Any]) -> Iterator[tuple[str, bool]]:
    """The rows are what was done: each opening, each code, each page, and the act."""
    acts = [row["act"] for row in rows]
    done = ["signer.link_opened", *["signer.code_wrong"] * deed.wrong]
    done += ["signer.code_right"] if deed.auth != "none" else []
    done += ["signer.viewed", *["signer.page_viewed"] * len(deed.pages)]
    done.append(f"signer.{ROW[deed.act]}")
    yield f"{deed} is told as {acts}", acts == done
    yield "the opening is told with another link", rows[0]["detail"]["link"] == deed.link
    yield (
        "pages are told that were not served",
        [row["detail"]["page"] for row in rows if row["act"] == "signer.page_viewed"] == deed.pages,
    )


def _of_who_never_came(shown: Any, proved: Any, rows: list[Any]) -> Iterator[tuple[str, bool]]:
    """To whom it was passed on, and who was not needed any more."""
    claims = [shown["identity"], *(proved[name] for name in ("identity", "address", "consent", "seen_sha256"))]
    yield f"{claims} is claimed of someone who never came", rows == [] and not any(claims)


def _of_evidence(proved: Any, rows: list[Any], paper: str, text: str | None) -> Iterator[tuple[str, bool]]:
    last = rows[-1]
    yield "the evidence has another address", proved["address"] == last["detail"]["address"]
    yield "the evidence has another program", proved["user_agent"] == last["detail"]["user_agent"]
    pages = [row["detail"]["page"] for row in rows if row["act"] == "signer.page_viewed"]
    yield "pages are claimed that were not served", proved["seen_pages"] == pages
    yield "a file is claimed that was not served", proved["seen_sha256"] == (paper if pages else None)
    consent = proved["consent"] or {"text": None, "at": None}
    said = (text, last["at"]) if text else (None, None)
    yield "the consent is not what was shown when they signed", (consent["text"], consent["at"]) == said


def _text(pdf: bytes) -> str:
    with pypdfium2.PdfDocument(pdf) as opened:
        return _plain(" ".join(page.get_textpage().get_text_range() for page in opened))


def _plain(text: str) -> str:
    """Without white space and hyphens: where lines break is not what is said."""
    return re.sub(r"[\s\u0002\ufffe-]+", "", text)
