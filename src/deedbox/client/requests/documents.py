# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `documents`."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deedbox.client.records.documents import (
    Message,
    Reminders,
    ShowIf,
)


class NewSigner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send `access_code` with `auth` `access_code`, and with no other `auth`. Do not send `delegation` with
    `auth` `access_code`: the code was agreed with this person alone."""

    name: str
    """The signer's name, as it stands on the certificate."""
    email: str
    """Where the invitation goes; it is compared in lower case."""
    language: str | None = None
    """The language of the mails and pages for this person; that of the document unless given."""
    auth: Literal["access_code", "email_code", "none"] = "none"
    """What the person has to give beside the link."""
    access_code: str | None = None
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown
    again."""
    time_zone: str | None = None
    """The IANA name of the zone in which times are told to the person, such as `Europe/Berlin`; reminders come by
    day there, and a `date_signed` is the day there."""
    role: Literal["approver", "cc", "signer"] = "signer"
    """`signer` signs; `approver` agrees without a mark on the page; `cc` is never waited for and gets a copy of
    the sealed file."""
    delegation: bool = False
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""


class NewParty(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send `quorum` with `rule` `quorum`, and with no other `rule`."""

    name: str
    """What the party is called."""
    signers: list[NewSigner]
    """The people who sign for it."""
    order: int = 1
    """When it is this party's turn: lower ones first, equal ones side by side."""
    rule: Literal["all", "any", "quorum"] = "all"
    """Who of its signers has to sign."""
    quorum: int | None = None
    """How many have to sign, with the rule `quorum`."""
    on_decline: Literal["continue_while_possible", "decline_document"] = "decline_document"
    """What one signer's decline does: end the document, or nothing while the rule can still be met."""


class LoneSigner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send `access_code` with `auth` `access_code`, and with no other `auth`. Do not send `delegation` with
    `auth` `access_code`: the code was agreed with this person alone."""

    name: str
    """The signer's name, as it stands on the certificate."""
    email: str
    """Where the invitation goes; it is compared in lower case."""
    language: str | None = None
    """The language of the mails and pages for this person; that of the document unless given."""
    auth: Literal["access_code", "email_code", "none"] = "none"
    """What the person has to give beside the link."""
    access_code: str | None = None
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown
    again."""
    time_zone: str | None = None
    """The IANA name of the zone in which times are told to the person, such as `Europe/Berlin`; reminders come by
    day there, and a `date_signed` is the day there."""
    role: Literal["approver", "cc", "signer"] = "signer"
    """`signer` signs; `approver` agrees without a mark on the page; `cc` is never waited for and gets a copy of
    the sealed file."""
    delegation: bool = False
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""
    order: int = 1
    """When it is this signer's turn: lower ones first, equal ones side by side."""


class NewField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send exactly one of `signer` and `party`. Send `max_length` and `pattern` only with `type` `text`. With
    `type` `radio`, send `options`, or `group` and `label` for each button. Send `group` with no other `type`.
    Send `options` with `type` `select`. Do not send `default` with `type` `date_signed`: it is filled in with the
    day of signing. Use `date` for a day that you or the signer choose. Do not send `default` with `type`
    `signature`, `initials` or `attachment`: only the signer can fill it. Do not send `read_only` with `type`
    `signature`, `initials` or `attachment`: only the signer can fill it."""

    type: Literal[
        "attachment",
        "checkbox",
        "date",
        "date_signed",
        "email",
        "initials",
        "name",
        "number",
        "radio",
        "select",
        "signature",
        "text",
    ]
    """What is filled in. The server fills `date_signed` with the day of the signature in the signer's time zone;
    a `date` is entered by the signer."""
    page: int
    """The page of the file, from 1."""
    x: float
    """The left edge, as a fraction of the page's width as it is displayed."""
    y: float
    """The upper edge, as a fraction of the page's height as it is displayed."""
    w: float
    """The width, as a fraction of the page's."""
    h: float
    """The height, as a fraction of the page's."""
    file: int | str = 0
    """Which of the files: its number from 0, or its id."""
    signer: str | None = None
    """Who fills it: an id, an e-mail address or a name; an id in answers."""
    party: str | None = None
    """Or the party, any of whom fills it: an id or a name; an id in answers."""
    required: bool = True
    """Whether the signer can sign only once it is filled."""
    label: str | None = None
    """What the signer is asked for."""
    default: str | None = None
    """What stands in it until the signer fills it."""
    options: list[str] = []
    """The choices of a `select`, or of a `radio`: it gets a button and a printed label for each, stacked or
    beside each other in its rectangle, and its value is the option chosen."""
    font_size: float | None = None
    """Points at which its text is set if there is room; 11 unless given."""
    read_only: bool = False
    """Whether the signer sees it and cannot change it; it shows its default. Always true of a `date_signed`."""
    max_length: int | None = None
    """The most characters that a `text` may have."""
    pattern: str | None = None
    """The regular expression that the whole of a `text` has to match, in the syntax of RE2."""
    group: str | None = None
    """The group of a `radio` button without `options`: of those of one signer, one is chosen. Each has a label of
    its own."""
    show_if: ShowIf | None = None
    """When it is shown; always unless given."""
    hint: str | None = None
    """How to fill it in, in words for the signer: "two letters and six digits". They never see a `pattern`."""


class NewFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    """The file's name; its extension says what it is."""
    content_base64: str
    """The bytes of the file, in base64."""
    password: str | None = None
    """Opens a PDF that is locked. It is used once and kept nowhere."""


class NewDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new document in JSON; its files come with it, or as parts of a form. Send exactly one of `file`, `files`
    and `template_id`. Send `parties` or `signers`, not both. Send at least one of `title` and `template_id`. Send
    `roles` only with `template_id`. Do not send `parties`, `signers`, `fields` or `signed_input` with
    `template_id`."""

    title: str | None = None
    """What it is called, in mails and on the certificate. It may be left out where a template has a name."""
    template_id: str | None = None
    """The template of which it is made, instead of files, parties and fields."""
    roles: dict[str, list[NewSigner] | NewSigner] = {}
    """With `template_id`: who has which role, by its name; one person, or a list of people."""
    parties: list[NewParty] = []
    """Who signs, and in which order."""
    signers: list[LoneSigner] = []
    """Each a party of its own; instead of parties."""
    fields: list[NewField] = []
    """What is filled in, and where; a signer without a signature field gets one on the last page."""
    values: dict[str, str] = {}
    """What stands in fields and text tags until their signers fill them, by the labels of these."""
    message: Message | None = None
    """What the invitation says, instead of the usual words."""
    metadata: dict[str, str] = {}
    """Your own names and values: at most 50."""
    external_id: str | None = None
    """Your own id for it, by which it can be found."""
    expires_at: datetime | str | None = None
    """When it can no longer be signed; it must lie ahead."""
    reminders: Reminders | None = None
    """When people are reminded; never unless given."""
    language: str | None = None
    """The language of the certificate, and of whoever has none of their own: that of the template, else `en`."""
    require_timestamp: bool = False
    """Complete it only with a time-stamp of the authority that the server's settings name."""
    signed_input: Literal["flatten", "refuse"] = "refuse"
    """What to do with a PDF that is already signed: refuse it, or check and name its signatures and keep only how
    they look."""
    send: bool = False
    """Send it at once; needs documents:send."""
    file: NewFile | None = None
    """The one file of the document."""
    files: list[NewFile] = []
    """The files of the document, if it has several; they are signed as one."""


class ListedSigner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Someone as POST takes them, a party of their own; or, by id, the corrected address of someone who is known.
    Send `access_code` with `auth` `access_code`, and with no other `auth`. Do not send `delegation` with `auth`
    `access_code`: the code was agreed with this person alone. Send at least one of `name` and `id`. With `id`,
    send nothing but `email`."""

    email: str
    """Where the invitation goes; it is compared in lower case."""
    language: str | None = None
    """The language of the mails and pages for this person; that of the document unless given."""
    auth: Literal["access_code", "email_code", "none"] = "none"
    """What the person has to give beside the link."""
    access_code: str | None = None
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown
    again."""
    time_zone: str | None = None
    """The IANA name of the zone in which times are told to the person, such as `Europe/Berlin`; reminders come by
    day there, and a `date_signed` is the day there."""
    role: Literal["approver", "cc", "signer"] = "signer"
    """`signer` signs; `approver` agrees without a mark on the page; `cc` is never waited for and gets a copy of
    the sealed file."""
    delegation: bool = False
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""
    order: int = 1
    """When it is this signer's turn: lower ones first, equal ones side by side."""
    name: str | UnsetType = UNSET
    """The signer's name, as it stands on the certificate. Needed without an id."""
    id: str | None = None
    """The signer whose e-mail address is corrected; links that went to the old one die. Give nothing else with
    it."""


class KnownSigner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A signer of a draft as they are to be, or another one. Send `access_code` only with `auth` `access_code`,
    and always with it unless an `id` names a signer who has one. Do not send `delegation` with `auth`
    `access_code`: the code was agreed with this person alone."""

    name: str
    """The signer's name, as it stands on the certificate."""
    email: str
    """Where the invitation goes; it is compared in lower case."""
    language: str | None = None
    """The language of the mails and pages for this person; that of the document unless given."""
    auth: Literal["access_code", "email_code", "none"] = "none"
    """What the person has to give beside the link."""
    access_code: str | None = None
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown
    again."""
    time_zone: str | None = None
    """The IANA name of the zone in which times are told to the person, such as `Europe/Berlin`; reminders come by
    day there, and a `date_signed` is the day there."""
    role: Literal["approver", "cc", "signer"] = "signer"
    """`signer` signs; `approver` agrees without a mark on the page; `cc` is never waited for and gets a copy of
    the sealed file."""
    delegation: bool = False
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""
    id: str | None = None
    """The signer whom it changes; without it, a new one."""


class KnownParty(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A party of a draft as it is to be, or another one. Send `quorum` with `rule` `quorum`, and with no other
    `rule`."""

    name: str
    """What the party is called."""
    signers: list[KnownSigner]
    """The people who sign for it."""
    order: int = 1
    """When it is this party's turn: lower ones first, equal ones side by side."""
    rule: Literal["all", "any", "quorum"] = "all"
    """Who of its signers has to sign."""
    quorum: int | None = None
    """How many have to sign, with the rule `quorum`."""
    on_decline: Literal["continue_while_possible", "decline_document"] = "decline_document"
    """What one signer's decline does: end the document, or nothing while the rule can still be met."""
    id: str | None = None
    """The party that it changes; without it, a new one."""


class KnownField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a draft as it is to be, or another one. Send exactly one of `signer` and `party`. Send
    `max_length` and `pattern` only with `type` `text`. With `type` `radio`, send `options`, or `group` and
    `label` for each button. Send `group` with no other `type`. Send `options` with `type` `select`. Do not send
    `default` with `type` `date_signed`: it is filled in with the day of signing. Use `date` for a day that you or
    the signer choose. Do not send `default` with `type` `signature`, `initials` or `attachment`: only the signer
    can fill it. Do not send `read_only` with `type` `signature`, `initials` or `attachment`: only the signer can
    fill it."""

    type: Literal[
        "attachment",
        "checkbox",
        "date",
        "date_signed",
        "email",
        "initials",
        "name",
        "number",
        "radio",
        "select",
        "signature",
        "text",
    ]
    """What is filled in. The server fills `date_signed` with the day of the signature in the signer's time zone;
    a `date` is entered by the signer."""
    page: int
    """The page of the file, from 1."""
    x: float
    """The left edge, as a fraction of the page's width as it is displayed."""
    y: float
    """The upper edge, as a fraction of the page's height as it is displayed."""
    w: float
    """The width, as a fraction of the page's."""
    h: float
    """The height, as a fraction of the page's."""
    file: int | str = 0
    """Which of the files: its number from 0, or its id."""
    signer: str | None = None
    """Who fills it: an id, an e-mail address or a name; an id in answers."""
    party: str | None = None
    """Or the party, any of whom fills it: an id or a name; an id in answers."""
    required: bool = True
    """Whether the signer can sign only once it is filled."""
    label: str | None = None
    """What the signer is asked for."""
    default: str | None = None
    """What stands in it until the signer fills it."""
    options: list[str] = []
    """The choices of a `select`, or of a `radio`: it gets a button and a printed label for each, stacked or
    beside each other in its rectangle, and its value is the option chosen."""
    font_size: float | None = None
    """Points at which its text is set if there is room; 11 unless given."""
    read_only: bool = False
    """Whether the signer sees it and cannot change it; it shows its default. Always true of a `date_signed`."""
    max_length: int | None = None
    """The most characters that a `text` may have."""
    pattern: str | None = None
    """The regular expression that the whole of a `text` has to match, in the syntax of RE2."""
    group: str | None = None
    """The group of a `radio` button without `options`: of those of one signer, one is chosen. Each has a label of
    its own."""
    show_if: ShowIf | None = None
    """When it is shown; always unless given."""
    hint: str | None = None
    """How to fill it in, in words for the signer: "two letters and six digits". They never see a `pattern`."""
    id: str | None = None
    """The field that it changes; without it, a new one."""


class UnlockedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the document that only opens with its password."""

    id: str
    """The file's id."""
    password: str
    """Opens the PDF. It is used once and kept nowhere."""


class DocumentChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is changed; the rest stays. After sending, only expiry, reminders, metadata and addresses
    are."""

    title: str | UnsetType = UNSET
    """What it is called, in mails and on the certificate."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Your own names and values, in place of all there were."""
    expires_at: datetime | str | UnsetType | None = UNSET
    """When it can no longer be signed, in place of any expires_after_hours; null: never."""
    expires_after_hours: int | UnsetType | None = UNSET
    """How long a draft can be signed, from sending, in place of any expires_at; null: for ever."""
    reminders: Reminders | UnsetType | None = UNSET
    """When people are reminded; null: never."""
    signers: list[ListedSigner] = []
    """Without ids: who signs, each a party of its own, in place of all parties of a draft, as POST takes them.
    With ids: corrected e-mail addresses of signers who are known; after sending, this needs documents:send."""
    message: Message | UnsetType | None = UNSET
    """What the invitation says; null: the usual words."""
    parties: list[KnownParty] | UnsetType = UNSET
    """Take the place of all parties of a draft."""
    fields: list[KnownField] | UnsetType = UNSET
    """Take the place of the fields that were asked for; text tags in the files stay."""
    signed_input: Literal["flatten", "refuse"] | UnsetType = UNSET
    """What to do with a PDF that is already signed."""
    files: list[UnlockedFile] = []
    """The passwords of locked files, which other parties or fields of a draft make necessary again."""


class Reason(Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: str | None = None
    """Why, as the signers are told."""


class SignerChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is corrected of someone who has not acted; what is not given stays."""

    name: str | UnsetType = UNSET
    """The name, as it stands on the certificate."""
    email: str | UnsetType = UNSET
    """The right address; links that went to the old one die."""
    language: str | UnsetType = UNSET
    """The language of the mails and pages for this person."""
    time_zone: str | UnsetType | None = UNSET
    """The IANA name of the zone in which times are told to the person; null: UTC."""
    auth: Literal["access_code", "email_code", "none"] | UnsetType = UNSET
    """What the person has to give beside the link; with another one, links that were sent before die."""
    access_code: str | UnsetType = UNSET
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown
    again."""
    delegation: bool | UnsetType = UNSET
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""
