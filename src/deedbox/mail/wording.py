"""What every mail says, in every language: one table. Another language is one more entry with the same names."""

from collections.abc import Mapping
from datetime import UTC

from deedbox.kernel.clock import moment

DEFAULT = "en"
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})

ENGLISH = {
    "months": "January February March April May June July August September October November December",
    "moment": "{day} {month} {year}, {time} UTC",
    "greeting": "Hello {name},",
    "greeting_nobody": "Hello,",
    "quoted": "Message from {sender}:",
    "open_page": "If the button does not work, copy this address into your browser:",
    "document": "Document",
    "from": "From",
    "sign_by": "Sign by",
    "reason": "Reason given:",
    "keep_link": "This link is yours alone: whoever has it can open the document in your name. Do not pass it on.",
    "why_signer": "You get this mail because {sender} named you as a signer of this document.",
    "why_party": "You get this mail because you take part in this document.",
    "why_code": "You get this mail because someone opened your signing link. If it was not you, ignore this mail and"
    " tell the sender: without the code, nobody can sign.",
    "why_test": "You get this mail because the operator of this server asked for it.",
    "invitation_subject": "{sender} asks you to sign: {title}",
    "invitation_lead": "{sender} asks you to read and sign this document.",
    "invitation_button": "Read and sign",
    "reminder_subject": "Reminder: {title} waits for your signature",
    "reminder_lead": "{sender} is still waiting for your signature on this document.",
    "reminder_button": "Read and sign",
    "code_subject": "Your code to sign: {title}",
    "code_lead": "Type this code on the signing page. It is valid for {minutes} minutes.",
    "code_label": "Your code",
    "completion_subject": "Signed by everyone: {title}",
    "completion_lead": "Everyone has signed. The document is sealed: any later change to it can be detected.",
    "completion_attached": "The sealed document is attached to this mail.",
    "completion_large": "The sealed document is too large for a mail.",
    "completion_button": "Open the document",
    "completion_verify": "Anyone who holds the file can check that it is genuine:",
    "completion_code": "Verification code",
    "declined_subject": "Declined: {title}",
    "declined_lead": "{signer} has declined to sign this document. It can no longer be signed.",
    "declined_button": "Open the document",
    "voided_subject": "Withdrawn: {title}",
    "voided_lead": "{sender} has withdrawn this document. It can no longer be signed, and you need not do anything.",
    "expired_subject": "Expired: {title}",
    "expired_lead": "The time to sign this document ended on {moment}. It can no longer be signed.",
    "expired_button": "Open the document",
    "test_subject": "Deedbox can send mail",
    "test_lead": "This is the test mail of your Deedbox server. It was handed to {server}.",
    "footer": "Sent by Deedbox, a server for signing documents.",
}

GERMAN = {
    "months": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "moment": "{day}. {month} {year}, {time} UTC",
    "greeting": "Guten Tag {name},",
    "greeting_nobody": "Guten Tag,",
    "quoted": "Nachricht von {sender}:",
    "open_page": "Falls die Schaltfläche nicht funktioniert, kopieren Sie diese Adresse in Ihren Browser:",
    "document": "Dokument",
    "from": "Von",
    "sign_by": "Frist",
    "reason": "Genannter Grund:",
    "keep_link": "Dieser Link gilt nur für Sie: Wer ihn hat, kann das Dokument in Ihrem Namen öffnen. Geben Sie ihn"
    " nicht weiter.",
    "why_signer": "Sie erhalten diese E-Mail, weil {sender} Sie gebeten hat, dieses Dokument zu unterschreiben.",
    "why_party": "Sie erhalten diese E-Mail, weil Sie an diesem Dokument beteiligt sind.",
    "why_code": "Sie erhalten diese E-Mail, weil jemand Ihren Link zum Unterschreiben geöffnet hat. Waren Sie es nicht,"
    " beachten Sie sie nicht weiter und sagen Sie dem Absender Bescheid: Ohne den Code kann niemand unterschreiben.",
    "why_test": "Sie erhalten diese E-Mail, weil der Betreiber dieses Servers sie angefordert hat.",
    "invitation_subject": "{sender} bittet um Ihre Unterschrift: {title}",
    "invitation_lead": "{sender} bittet Sie, dieses Dokument zu lesen und zu unterschreiben.",
    "invitation_button": "Lesen und unterschreiben",
    "reminder_subject": "Erinnerung: {title} wartet auf Ihre Unterschrift",
    "reminder_lead": "{sender} wartet noch auf Ihre Unterschrift unter diesem Dokument.",
    "reminder_button": "Lesen und unterschreiben",
    "code_subject": "Ihr Code zum Unterschreiben: {title}",
    "code_lead": "Geben Sie diesen Code auf der Seite zum Unterschreiben ein. Er gilt {minutes} Minuten lang.",
    "code_label": "Ihr Code",
    "completion_subject": "Von allen unterschrieben: {title}",
    "completion_lead": "Alle haben unterschrieben. Das Dokument ist versiegelt: Jede spätere Änderung ist erkennbar.",
    "completion_attached": "Das versiegelte Dokument hängt dieser E-Mail an.",
    "completion_large": "Das versiegelte Dokument ist zu groß für eine E-Mail.",
    "completion_button": "Dokument öffnen",
    "completion_verify": "Wer die Datei hat, kann prüfen, ob sie echt ist:",
    "completion_code": "Prüfcode",
    "declined_subject": "Abgelehnt: {title}",
    "declined_lead": "{signer} hat die Unterschrift abgelehnt. Das Dokument kann nicht mehr unterschrieben werden.",
    "declined_button": "Dokument öffnen",
    "voided_subject": "Zurückgezogen: {title}",
    "voided_lead": "{sender} hat dieses Dokument zurückgezogen. Es kann nicht mehr unterschrieben werden; Sie brauchen"
    " nichts weiter zu tun.",
    "expired_subject": "Abgelaufen: {title}",
    "expired_lead": "Die Frist für dieses Dokument endete am {moment}. Es kann nicht mehr unterschrieben werden.",
    "expired_button": "Dokument öffnen",
    "test_subject": "Deedbox kann E-Mails senden",
    "test_lead": "Dies ist die Test-E-Mail Ihres Deedbox-Servers. Sie wurde an {server} übergeben.",
    "footer": "Gesendet von Deedbox, einem Server zum Unterschreiben von Dokumenten.",
}

LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "de": GERMAN}


def known(language: str) -> str:
    """The language of the table that comes nearest: `de` for `de-AT`, English for what is not there."""
    first = language.lower().replace("_", "-").partition("-")[0]
    return first if first in LANGUAGES else DEFAULT


def written(instant: str, language: str) -> str:
    """A moment as people of this language write it."""
    words = LANGUAGES[language]
    at = moment(instant).astimezone(UTC)
    return words["moment"].format(
        day=at.day, month=words["months"].split()[at.month - 1], year=at.year, time=f"{at:%H:%M}"
    )
