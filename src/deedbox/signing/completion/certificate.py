"""What the certificate of completion tells: the same facts as the evidence, in sentences for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from deedbox import i18n
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import accent as colours
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.clock import moment
from deedbox.pdf.intake.signed_input import EarlierSignature
from deedbox.pdf.marks.certificate_facts import (
    CertifiedDocument,
    CertifiedEvent,
    CertifiedFile,
    CertifiedSigner,
    CompletionCertificate,
    LabeledText,
)
from deedbox.signing.completion.facts import (
    Facts,
    act_of,
    as_in,
    consent_of,
    host_of,
    list_seen_pages,
    shown_at,
    signed_fields,
    trail_since,
    voucher_of,
)
from deedbox.signing.completion.marks import describe_pages
from deedbox.signing.field_value import format_value
from deedbox.signing.model import Field, Packet, Party, Seal, Signer
from deedbox.signing.store.sealed import SealedHashes

_COMINGS = (
    "signer.link_made",
    "signer.link_opened",
    "signer.code_mailed",
    "signer.code_wrong",
    "signer.code_right",
    "signer.viewed",
)


class Certified(NamedTuple):
    """The sealed file that a certificate is about, and what its seal is worth."""

    file: Blob
    seal: Seal
    timestamped_at: str
    """When its time-stamp was made; empty if it has none."""
    head: str
    """The head of the audit trail in the seal."""


def completion(
    facts: Facts, certified: Certified, images: Mapping[str, bytes], address: str, completed_at: str
) -> CompletionCertificate:
    """What the certificate tells; `images` are the drawn and uploaded signatures and the logo, by their hash."""
    document, language, rows = facts.document, facts.packet.language, _rows(facts)
    code = document.verification_code or ""
    return CompletionCertificate(
        title=document.title,
        document_id=document.id,
        verification_code=code,
        verification_url=f"{address}/verify/{code}",
        made_at=completed_at,
        completed_at=_when(language, completed_at),
        files=_files(facts, certified.file.sha256),
        signers=tuple(_signer(facts, party, signer, images) for party, signer in facts.packet.signers()),
        events=_events(rows, facts.packet),
        more_events=len(facts.trail) - len(rows),
        chain_head=certified.head,
        language=language,
        sender_name=facts.packet.sender,
        workspace=facts.packet.company,
        **_branded(facts, images),
        created_at=_when(language, document.created_at),
        sent_at=_when(language, document.sent_at),
        seal_level=certified.seal.level,
        seal_certificate=certified.seal.certificate_fingerprint,
        seal_timestamp=_when(language, certified.timestamped_at),
    )


def _branded(facts: Facts, images: Mapping[str, bytes]) -> dict[str, Any]:
    """The look that the workspace has chosen: nothing, or its logo and a colour on which white is read."""
    accent, logo = facts.brand.accent, facts.brand.logo_sha256
    return {"logo": images[logo] if logo else b"", "accent": colours.light(accent).accent if accent else ""}


def packet_completion(
    sealed: Sequence[tuple[Facts, SealedHashes]], images: Mapping[str, bytes], address: str, completed_at: str
) -> CompletionCertificate:
    """What the certificate of a whole packet tells: its documents with their hashes, and all people once."""
    known = [facts for facts, _ in sealed]
    packet, document = known[0].packet, known[0].document
    return CompletionCertificate(
        title=packet.title,
        document_id=packet.id,
        verification_code="",
        verification_url="",
        made_at=completed_at,
        completed_at=_when(packet.language, completed_at),
        files=(),
        signers=tuple(
            _in_all([_signer(facts, party, signer, images) for facts in known], known)
            for party, signer in packet.signers()
        ),
        events=(),
        chain_head="",
        language=packet.language,
        sender_name=packet.sender,
        workspace=packet.company,
        **_branded(known[0], images),
        created_at=_when(packet.language, document.created_at),
        sent_at=_when(packet.language, document.sent_at),
        seal_certificate=document.seal.certificate_fingerprint if document.seal else "",
        documents=tuple(_document(facts, made, address) for facts, made in sealed),
    )


def _document(facts: Facts, made: SealedHashes, address: str) -> CertifiedDocument:
    document, code = facts.document, facts.document.verification_code or ""
    return CertifiedDocument(
        title=document.title,
        id=document.id,
        verification_code=code,
        verification_url=f"{address}/verify/{code}",
        files=_files(facts, made.sha256),
        chain_head=made.head,
        seal_level=document.seal.level if document.seal else "",
    )


def _in_all(told: Sequence[CertifiedSigner], known: Sequence[Facts]) -> CertifiedSigner:
    """The person once, with what was shown to them and filled in by them in each document."""
    # Whoever signs does so in one document at least; in others there may be nothing for them to sign.
    first, titles = min(told, key=lambda one: one.status == "shown"), [facts.document.title for facts in known]
    table = i18n.of_use(known[0].packet.language, "certificate")
    steps = [step for step in first.steps if step.label != table["pages_shown"]]
    for label in (table["shown"], table["pages_shown"]):
        for title, one in zip(titles, told, strict=True):
            steps += [LabeledText(f"{label}: {title}", step.text) for step in one.steps if step.label == label]
    values = [
        LabeledText(f"{title}: {value.label}", value.text)
        for title, one in zip(titles, told, strict=True)
        for value in one.values
    ]
    return msgspec.structs.replace(first, steps=tuple(steps), values=tuple(values))


def _files(facts: Facts, sealed_sha256: str) -> tuple[CertifiedFile, ...]:
    """The files; the first is named with the hash of what all were sealed into."""
    return tuple(
        CertifiedFile(
            file.name,
            file.pages,
            file.sha256,
            "" if position else sealed_sha256,
            tuple(_earlier(facts.packet.language, one) for one in file.signatures),
        )
        for position, file in enumerate(facts.document.files)
    )


def _earlier(language: str, signature: EarlierSignature) -> str:
    table = i18n.of_use(language, "certificate")
    at = signature.timestamped_at or signature.signed_at
    told = table["earlier_valid" if signature.valid else "earlier_invalid"]
    return told.format(signer=signature.signer, moment=_when(language, at) or table["earlier_undated"])


def _signer(facts: Facts, party: Party, signer: Signer, images: Mapping[str, bytes]) -> CertifiedSigner:
    signer = as_in(facts, signer)
    signed, act, language = signer.signature, act_of(facts, signer), facts.packet.language
    table = i18n.of_use(language, "certificate")
    consent = consent_of(signer, act)
    dated = {
        "notified": signer.notified_at,
        "viewed": signer.viewed_at,
        "text_viewed": _text_shown(facts, signer),
        "consented": str(consent.at) if consent else None,
        "declined": signer.declined_at,
        "shown": shown_at(facts, signer),
    }
    moments = sorted(((name, at) for name, at in dated.items() if at), key=lambda one: one[1])
    return CertifiedSigner(
        id=signer.id,
        name=signer.name,
        email=signer.email,
        party=party.name if party.declared else "",
        identity=_identity(table, signer, act),
        status="shown" if dated["shown"] else _status(signer),
        role=_role(facts, table, signer),
        steps=(
            *(LabeledText(table[name], _when(language, at, signer.time_zone)) for name, at in moments),
            *([LabeledText(table["pages_shown"], _pages_shown(facts, signer))] if signer.viewed_at else []),
        ),
        signed_at=_when(language, signer.signed_at, signer.time_zone),
        address=str(act.get("address", "")),
        user_agent=str(act.get("user_agent", "")),
        consent=consent.text if consent else "",
        values=tuple(_values(facts, party, signer)) if signed else (),
        signature_text=(signed.text or "") if signed else "",
        signature_image=images[signed.file_sha256] if signed and signed.file_sha256 else b"",
        signature_hand=(signed.hand if signed else None) or "dancing",
    )


def _identity(table: Mapping[str, str], signer: Signer, act: dict[str, Any]) -> str:
    if signer.role == "cc":
        return ""
    voucher, host = voucher_of(act), host_of(act)
    key = f"{voucher.key_name} ({voucher.key_id})" if voucher else ""
    ways: list[str] = [signer.identity or "none"]
    ways += ["embedded_link"] if voucher else []
    ways += ["in_person"] if host else []
    told = {"key": key, "host": f"{host.name} ({host.person_id})" if host else ""}
    return " · ".join(table[f"identity.{one}"].format(**told) for one in dict.fromkeys(ways))


def _status(signer: Signer) -> str:
    """The name of the word that says how far this person came."""
    if signer.delegated_to is not None:
        return "delegated"
    if signer.role == "cc":
        return "copy"
    return "approved" if signer.role == "approver" and signer.status == "signed" else signer.status


def _role(facts: Facts, table: Mapping[str, str], signer: Signer) -> str:
    """What the person was asked for, unless it was to sign; whose place they took, and who took theirs."""
    told = [table[f"role.{signer.role}"]] if signer.role != "signer" else []
    for _, other in facts.packet.signers():
        if other.id == signer.delegated_to:
            told.append(table["passed_on_to"].format(name=other.name))
        if other.delegated_to == signer.id:
            told.append(table["passed_on_by"].format(name=other.name))
    return " · ".join(told)


def _pages_shown(facts: Facts, signer: Signer) -> str:
    """How many of the pages were served to the signer's device, of how many there are."""
    pages = sum(file.pages for file in facts.document.files)
    return f"{len(list_seen_pages(facts, signer))} / {pages}"


def _text_shown(facts: Facts, signer: Signer) -> str | None:
    """When the text of the document was first served to the signer."""
    rows = (entry for entry in trail_since(facts, signer) if entry.act == "signer.text_viewed")
    return next((entry.at for entry in rows if entry.actor == signer.id), None)


def _values(facts: Facts, party: Party, signer: Signer) -> Iterator[LabeledText]:
    language = facts.packet.language
    table = i18n.of_use(language, "certificate")
    for field in signed_fields(facts, party, signer):
        if field.value is not None and field.type not in ("signature", "initials"):
            label = field.label or table[f"field.{field.type}"]
            if field.is_button:
                label = field.group or label
            yield LabeledText(label, _value(facts, table, field, language))


def _value(facts: Facts, table: Mapping[str, str], field: Field, language: str) -> str:
    if field.type == "attachment":
        file = next(one for one in facts.document.attachments if one.field_id == field.id)
        return f"{file.name} · {describe_pages(facts.document, field.id, language)} · SHA-256 {file.sha256}"
    if field.is_button:
        return field.label or ""
    if field.type == "checkbox":
        return table["yes"] if field.value == "true" else table["no"]
    return format_value(field.type, field.value or "", language)


def _rows(facts: Facts) -> list[TrailEntry]:
    """The rows on the certificate: views of single pages, and comings if they are thousands, are evidence alone."""
    rows = [entry for entry in facts.trail if entry.act != "signer.page_viewed"]
    if len(rows) > limits.CERTIFICATE_EVENTS:
        rows = [entry for entry in rows if entry.act not in _COMINGS]
    return rows


def _events(rows: Sequence[TrailEntry], packet: Packet) -> tuple[CertifiedEvent, ...]:
    """The rows with the names that people had at the time: from the last one back, through each correction."""
    known = {signer.id: signer.name for _, signer in packet.signers()}
    told: list[CertifiedEvent] = []
    for entry in reversed(rows):
        told.append(_event(entry, known))
        if entry.act == "signer.corrected":
            known[str(entry.detail["signer"])] = str(entry.detail["was"]["name"])
    return tuple(reversed(told))


def _event(entry: TrailEntry, known: Mapping[str, str]) -> CertifiedEvent:
    told = entry.detail.get("signer")
    actor = known.get(entry.actor, entry.actor)
    named = known.get(str(told), "") if told is not None else ""
    detail = " · ".join(text for text in (named, str(entry.detail.get("reason") or "")) if text)
    at = entry.at.replace("T", " ").removesuffix("Z")
    return CertifiedEvent(at, entry.act, actor, detail, str(entry.detail.get("address", "")), entry.hash)


def _when(language: str, at: str | None, zone: str | None = None) -> str:
    return i18n.moment(language, moment(at), zone, width="medium") if at else ""
