"""Whether the database tells one story of each document: state, people, counts, audit trail, events, mails, files."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from deedbox.evidence import chain
from deedbox.signing.states import TERMINAL
from tests.faults.installation import Installation

ENDS = {"completed", "declined", "voided", "expired"}
_DOCUMENT = (
    "id, status, coalesce(external_id, title), seal, sent_at, completed_at, declined_at, voided_at, expired_at, decline"
)
_OPEN = ("waiting", "notified", "viewed", "active")
_MAILED = ("mail", "kept")
"""The kinds of links that stand in mails; those that no mail server takes are kept for the sender."""


class Signer(msgspec.Struct, frozen=True):
    id: str
    party_id: str
    email: str
    status: str
    notified_at: str | None
    signature: str | None
    identity: str | None


class Party(msgspec.Struct, frozen=True):
    id: str
    declared: int
    status: str


class Story(msgspec.Struct):
    """Everything that the database holds of one document."""

    id: str
    status: str
    title: str
    """No two have it in common; a row of a bulk send has it as its `external_id`."""
    seal: str | None
    sent_at: str | None
    completed_at: str | None
    declined_at: str | None
    voided_at: str | None
    expired_at: str | None
    decline: str | None
    signers: list[Signer] = []
    parties: list[Party] = []
    trail: list[chain.TrailEntry] = []
    events: list[tuple[int, str, Any]] = []
    shared: list[tuple[str, Any]] = []
    """What was told of its whole packet."""
    mails: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """Kind and address."""
    links: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """Kind of the link, and its signer."""
    marks: Counter[str] = msgspec.field(default_factory=Counter)
    """Signature fields that hold a signer's id."""
    sealed: int = 0
    jobs: int = 0
    """Finalizing jobs that wait or run."""

    def acts(self, act: str) -> list[chain.TrailEntry]:
        return [entry for entry in self.trail if entry.act == act]

    def told(self, kind: str) -> list[Any]:
        own = [(one, data) for _, one, data in self.events]
        return [data for one, data in [*own, *self.shared] if one == kind]

    def endings(self, end: str) -> list[Any]:
        """The events that tell of this end: a decline may leave the document open."""
        return [data for data in self.told(f"document.{end}") if data.get("final", True)]

    def having(self, status: str) -> list[Signer]:
        return [signer for signer in self.signers if signer.status == status]

    def written(self, *kinds: str) -> Counter[str]:
        """How many mails of these kinds went to each address."""
        found: Counter[str] = Counter()
        for (kind, address), number in self.mails.items():
            if kind in kinds:
                found[address] += number
        return found


def stories(installation: Installation) -> dict[str, Story]:
    """Every document by its id."""
    found = {row[0]: Story(*row) for row in installation.rows(f"select {_DOCUMENT} from documents")}
    people = (
        "select d.id, s.id, party_id, email, s.status, notified_at, signature, identity from signers s"
        " join documents d on d.packet_id = s.packet_id order by s.packet_id, s.position"
    )
    for owner, *rest in installation.rows(people):
        found[owner].signers.append(Signer(*rest))
    parties = (
        "select d.id, p.id, declared, p.status from parties p join documents d on d.packet_id = p.packet_id"
        " order by p.packet_id, p.position"
    )
    for owner, *rest in installation.rows(parties):
        found[owner].parties.append(Party(*rest))
    for sequence, kind, owner, data in installation.rows(
        "select sequence, kind, subject_id, data from events where subject_id like 'doc%' order by subject_id, sequence"
    ):
        found[owner].events.append((sequence, kind, msgspec.json.decode(data)))
    _add_shared(installation, found)
    _add_trails(installation, found)
    _add_papers(installation, found)
    return found


def _add_shared(installation: Installation, found: dict[str, Story]) -> None:
    """What was told and mailed of a packet belongs to the story of each of its documents."""
    told = "select d.id, e.kind, e.data from events e join documents d on d.packet_id = e.subject_id order by e.number"
    for owner, kind, data in installation.rows(told):
        found[owner].shared.append((kind, msgspec.json.decode(data)))
    mails = (
        "select d.id, m.kind, m.to_address from mails m join documents f on f.id = m.about"
        " join documents d on d.packet_id = f.packet_id"
    )
    for owner, kind, address in installation.rows(mails):
        found[owner].mails[kind, address] += 1


def _add_trails(installation: Installation, found: dict[str, Story]) -> None:
    previous: dict[str, str] = defaultdict(str)
    rows = "select document_id, number, at, act, actor, detail, hash from audit order by document_id, number"
    for owner, number, at, act, actor, detail, own in installation.rows(rows):
        before = previous[owner] or chain.genesis(owner)
        found[owner].trail.append(chain.TrailEntry(number, at, act, actor, msgspec.json.decode(detail), before, own))
        previous[owner] = own


def _add_papers(installation: Installation, found: dict[str, Story]) -> None:
    links = (
        "select d.id, l.kind, l.signer_id from signing_links l join signers s on s.id = l.signer_id"
        " join documents d on d.packet_id = s.packet_id"
    )
    for owner, kind, signer_id in installation.rows(links):
        found[owner].links[kind, signer_id] += 1
    marks = "select document_id, value from fields where type = 'signature' and value is not null"
    for owner, value in installation.rows(marks):
        found[owner].marks[value] += 1
    for (owner,) in installation.rows("select document_id from sealed_files"):
        found[owner].sealed += 1
    jobs = "select payload from jobs where kind = 'finalize' and state in ('ready', 'running')"
    for (payload,) in installation.rows(jobs):
        found[msgspec.json.decode(payload)["document_id"]].jobs += 1


def contradictions(story: Story) -> Iterator[str]:
    """What does not fit together, each as a sentence."""
    for sentence, holds in (
        *_of_the_trail(story),
        *_of_the_sending(story),
        *_of_the_signatures(story),
        *_of_the_parties(story),
        *_of_the_end(story),
        *_of_the_mails(story),
    ):
        if not holds:
            yield f"{story.id} ({story.status}): {sentence}"


Claims = Iterator[tuple[str, bool]]


def _of_the_trail(story: Story) -> Claims:
    yield "the audit chain is broken", chain.check(story.id, story.trail) is None
    yield "it was not created once, first of all", [entry.number for entry in story.acts("document.created")] == [1]
    numbers = [sequence for sequence, _, _ in story.events]
    yield "its events are not numbered 1, 2, 3…", numbers == list(range(1, len(numbers) + 1))


def _of_the_sending(story: Story) -> Claims:
    sent = int(story.sent_at is not None)
    yield "sending and its audit row differ", len(story.acts("document.sent")) == sent
    yield "sending and its event differ", len(story.told("document.sent")) == sent
    yield "it is no draft and was never sent", bool(sent) or story.status in ("processing", "draft", "voided", "failed")
    yield "a draft was sent", not sent or story.status not in ("processing", "draft")
    invited = Counter(entry.detail["signer"] for entry in story.acts("signer.invited"))
    notified = Counter(signer.id for signer in story.signers if signer.notified_at)
    yield "invited signers and audit rows differ", invited == notified
    yield "someone was invited before it was sent", bool(sent) or not notified


def _of_the_signatures(story: Story) -> Claims:
    signed = Counter(signer.id for signer in story.having("signed"))
    declined = Counter(signer.id for signer in story.having("declined"))
    yield "signatures and audit rows differ", Counter(e.actor for e in story.acts("signer.signed")) == signed
    yield "signatures and events differ", Counter(e["signer"]["id"] for e in story.told("document.signed")) == signed
    yield "signatures and filled fields differ", set(story.marks) == set(signed)
    kept = {signer.id for signer in story.signers if signer.signature is not None}
    yield "signatures and what was signed differ", kept == set(signed)
    yield "declines and audit rows differ", Counter(e.actor for e in story.acts("signer.declined")) == declined
    yield "declines and events differ", Counter(e["signer"]["id"] for e in story.told("document.declined")) == declined
    viewed = Counter(entry.actor for entry in story.acts("signer.viewed"))
    opened = Counter(entry.actor for entry in story.acts("signer.link_opened"))
    yield "someone viewed it more often than they came", all(viewed[who] <= opened[who] for who in viewed)
    yield "someone signed who was not shown it", set(signed) <= set(viewed)
    acted = {signer.id for signer in story.signers if signer.identity is not None}
    yield "who acted and whose identity is known differ", acted == set(signed) | set(declined)


def _of_the_parties(story: Story) -> Claims:
    completed = Counter(party.id for party in story.parties if party.status == "completed")
    declared = Counter(party.id for party in story.parties if party.status == "completed" and party.declared)
    rows = Counter(entry.detail["party"] for entry in story.acts("party.completed"))
    yield "completed parties and audit rows differ", rows == completed
    told = Counter(data["party"]["id"] for data in story.told("party.completed"))
    yield "completed parties and events differ", told == declared
    everyone = len(completed) == len(story.parties) and story.parties != []
    yield "all have signed, or not, and it is not so", everyone == (story.status in ("finalizing", "completed"))


def _of_the_end(story: Story) -> Claims:
    for end in sorted(ENDS):
        reached = int(story.status == end)
        ends = story.endings(end)
        rows = story.acts(f"document.{end}") if end != "declined" else ends
        told = reached if end != "voided" or story.sent_at else 0
        yield f"{end} and its time differ", (getattr(story, f"{end}_at") is not None) == bool(reached)
        yield f"{end} and its audit row differ", len(rows) == reached
        yield f"{end} and its event differ", len(ends) == told
    yield "two ends were told", sum(len(story.endings(end)) for end in ENDS) <= 1
    completed = story.status == "completed"
    yield "completed and its files differ", (story.sealed, story.seal is not None) == (int(completed), completed)
    yield "it waits to be sealed and no job does it", story.jobs == int(story.status == "finalizing")
    statuses = [signer.status for signer in story.signers] + [party.status for party in story.parties]
    still = any(status in _OPEN for status in statuses)
    yield "it is over and someone is still asked", not still or story.status not in (TERMINAL | {"finalizing"})
    yield "a decline is told that was none", (story.decline is not None) == (story.status == "declined")


def _of_the_mails(story: Story) -> Claims:
    emails = {signer.id: signer.email for signer in story.signers}
    invited = Counter(emails[str(entry.detail["signer"])] for entry in story.acts("signer.invited"))
    reminded = Counter(emails[str(entry.detail["signer"])] for entry in story.acts("signer.reminded"))
    yield "invitations and their mails differ", story.written("invitation") == invited
    yield "reminders and their mails differ", story.written("reminder") == reminded
    mailed = Counter({emails[one]: number for (kind, one), number in story.links.items() if kind in _MAILED})
    completed = {signer.email for signer in story.having("signed")} if story.status == "completed" else set()
    yield "links in mails and mails differ", mailed == invited + reminded + Counter(completed)
    yield "the sealed file was not mailed to all who signed", story.written("completion") == Counter(completed)
    # Who declined hears once that they did, whether it was the end or not.
    ended = Counter(_who_hears_of_the_end(story) | {signer.email for signer in story.having("declined")})
    yield "the end was not mailed to all invited", story.written("voided", "declined", "expired") == ended
    yield "who is not needed was not told so", story.written("not_needed") == Counter(_not_needed(story))


def _not_needed(story: Story) -> set[str]:
    """Whoever was asked, and whose party has become complete without them."""
    completed = {party.id for party in story.parties if party.status == "completed"}
    return {one.email for one in story.having("canceled") if one.notified_at and one.party_id in completed}


def _who_hears_of_the_end(story: Story) -> set[str]:
    """Whoever has signed or was still asked, and whose decline it was."""
    if story.status not in ("voided", "declined", "expired"):
        return set()
    completed = {party.id for party in story.parties if party.status == "completed"}
    asked = {one.email for one in story.having("canceled") if one.notified_at and one.party_id not in completed}
    decline = msgspec.json.decode(story.decline) if story.decline else {}
    final = {one.email for one in story.signers if one.id == decline.get("signer_id")}
    return asked | final | {one.email for one in story.having("signed")}
