"""Three sample contracts in two languages, set with the product's own typesetting."""

from collections.abc import Sequence
from datetime import datetime

import msgspec


class Clause(msgspec.Struct, frozen=True):
    title: str
    text: str


class ContractLine(msgspec.Struct, frozen=True):
    """What someone fills in: its label, and the text tag that places the field."""

    label: str
    tag: str


class ContractPerson(msgspec.Struct, frozen=True):
    """Who signs at the end of the paper."""

    role: str
    signature: str
    date: str


class Contract(msgspec.Struct, frozen=True):
    file_name: str
    language: str
    kind: str
    title: str
    lead: str
    clauses: Sequence[Clause]
    asked: Sequence[ContractLine]
    people: Sequence[ContractPerson]
    day: str
    """The word for a date."""

    def pdf(self, now: datetime) -> bytes:
        """The paper, with the text tags that place its fields."""
        from deedbox.pdf.marks.typeset import Typesetter

        return Typesetter("sample_contract.typ").compile(msgspec.to_builtins(self), {}, int(now.timestamp()))

    def without_fields(self) -> "Contract":
        """The same to read only, as it is indexed."""
        return msgspec.structs.replace(self, asked=[], people=[])


def _signs(role: str, name: str) -> ContractPerson:
    return ContractPerson(role, f"{{{{signature:{name};w=190;h=44}}}}", f"{{{{date:{name}}}}}")


LEASE = Contract(
    file_name="lease.pdf",
    language="en",
    kind="Lease",
    title="Lease of a flat",
    lead="Between Ben, who owns the flat, and Ann, who moves in.",
    clauses=[
        Clause("The flat", "Ben lets to Ann the flat on the second floor of 4 Sample Street: two rooms, a kitchen, a"
               " bathroom and the cellar with the same number. Ann has seen it and takes it as it is."),
        Clause("Beginning and end", "The lease begins on the first of next month and has no end. Either of the two may"
               " end it in writing with three months' notice, always to the last day of a month."),
        Clause("Rent", "The rent is 980 a month, heating and water included. It is paid in advance, by the third"
               " working day. Whoever pays late after one reminder owes two in a hundred of it on top."),
        Clause("Deposit", "Ann gives a deposit of two rents before she gets the keys. Ben keeps it apart from his own"
               " money and gives it back within eight weeks after the end, less what is still owed."),
        Clause("Repairs", "Ben repairs what wears out by itself; Ann repairs what she breaks. What drips, smells or"
               " sparks is told to Ben on the same day, so that it can be mended while it is small."),
        Clause("Living together", "From ten in the evening to six in the morning it is quiet. Small animals in cages"
               " are welcome; cats and dogs need Ben's consent, which he gives if the neighbours agree."),
        Clause("Moving out", "On the last day Ann gives back all keys. The rooms are swept and the holes in the walls"
               " are closed. Both walk through the flat together and write down what they find."),
    ],
    asked=[
        ContractLine("Telephone of the tenant", "{{text:Ann:Telephone;required=false;w=190}}"),
        ContractLine("People who move in", "{{select:Ann:People;options=One|Two|Three;w=120}}"),
        ContractLine("House rules received", "{{checkbox:Ann:I have the house rules}}"),
    ],
    people=[_signs("Ann, tenant", "Ann"), _signs("Ben, landlord", "Ben")],
    day="Date",
)  # fmt: skip

SERVICES = Contract(
    file_name="dienstleistungen.pdf",
    language="de",
    kind="Vertrag",
    title="Vertrag über Dienstleistungen",
    lead="Zwischen Eve, die den Auftrag gibt, und Ben, der ihn ausführt.",
    clauses=[
        Clause("Auftrag", "Ben pflegt den Garten am Haus von Eve: Er mäht den Rasen alle zwei Wochen, schneidet die"
               " Hecken im Frühling und im Herbst und räumt im Winter den Weg bis zur Straße."),
        Clause("Dauer", "Der Vertrag beginnt mit der letzten Unterschrift und gilt ein Jahr. Er verlängert sich um je"
               " ein Jahr, wenn ihn niemand mit einer Frist von vier Wochen in Textform kündigt."),
        Clause("Vergütung", "Eve zahlt 140 im Monat. Darin sind Geräte, Treibstoff und Anfahrt enthalten. Material wie"
               " Erde und Pflanzen wird nach Beleg berechnet, ab 50 erst nach Rückfrage."),
        Clause("Termine", "Ben nennt jeden Termin zwei Tage vorher. Fällt einer wegen des Wetters aus, holt er ihn"
               " innerhalb einer Woche nach. Eve sorgt dafür, dass das Tor offen ist."),
        Clause("Haftung", "Für Schäden, die Ben verursacht, kommt er auf; er ist dafür versichert. Was unter der Erde"
               " liegt und was ihm niemand gezeigt hat, nimmt er davon aus."),
        Clause("Schluss", "Änderungen gelten, wenn beide sie unterschreiben, auch elektronisch. Ist ein Satz dieses"
               " Vertrags unwirksam, bleiben die anderen bestehen."),
    ],
    asked=[
        ContractLine("Fläche des Gartens in m²", "{{number:Eve:Fläche in m²;w=90}}"),
        ContractLine("Kompost bleibt am Ort", "{{checkbox:Eve:Kompost bleibt am Ort;required=false}}"),
    ],
    people=[_signs("Eve, Auftraggeberin", "Eve"), _signs("Ben, Auftragnehmer", "Ben")],
    day="Datum",
)  # fmt: skip

SECRECY = Contract(
    file_name="secrecy.pdf",
    language="en",
    kind="Agreement",
    title="Agreement on confidentiality",
    lead="Between the company that shows something, and the guest who sees it.",
    clauses=[
        Clause("What is confidential", "Everything that the company shows or tells the guest about products that are"
               " not on sale yet: drawings, samples, prices, dates, and the fact that they exist."),
        Clause("What is not", "What the guest knew before, what anybody can read, and what the guest finds out without"
               " the help of the company. Whoever relies on this has to show it."),
        Clause("What the guest does", "The guest keeps it to himself or herself, uses it only to judge whether to work"
               " with the company, and gives back or deletes copies within ten days when asked to."),
        Clause("How long", "This agreement holds for three years from the day on which both have signed, whether or"
               " not they work together afterwards. For passwords and keys it holds without end."),
        Clause("If it is broken", "Whoever breaks this agreement tells the other at once and pays for the damage. A"
               " judge may forbid what would break it before any damage is done."),
    ],
    asked=[ContractLine("Company of the guest", "{{text:Guest:Company;required=false;w=190}}")],
    people=[_signs("Guest", "Guest"), _signs("Company", "Company")],
    day="Date",
)  # fmt: skip
