# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `templates`."""

from msgspec import Struct

from deedbox.client.records.documents import File, Message, Reminders, ShowIf


class Role(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A party without people. Send `quorum` with `rule` `quorum`, and with no other `rule`."""

    name: str
    """What the role is called, and the party of each document that is made."""
    order: int = 1
    """When it is this role's turn: lower ones first, equal ones side by side."""
    rule: str = "all"
    """Who of its people has to sign."""
    quorum: int | None = None
    """How many have to sign, with the rule `quorum`."""
    signers: int | None = None
    """How many people it takes; null: one or more."""
    on_decline: str = "decline_document"
    """What one signer's decline does: end the document, or nothing while the rule can still be met."""
    role: str = "signer"
    """What its people do, unless a person is given another: sign, approve, or get a copy."""


class TemplateField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a template, whose `party` is the name of a role. Send exactly one of `signer` and `party`. Send
    `max_length` and `pattern` only with `type` `text`. With `type` `radio`, send `options`, or `group` and
    `label` for each button. Send `group` with no other `type`. Send `options` with `type` `select`. Do not send
    `default` with `type` `date_signed`: it is filled in with the day of signing. Use `date` for a day that you or
    the signer choose. Do not send `default` with `type` `signature`, `initials` or `attachment`: only the signer
    can fill it. Do not send `read_only` with `type` `signature`, `initials` or `attachment`: only the signer can
    fill it. Send `party`, the name of a role, and no `signer`."""

    type: str
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
    found: bool = False
    """Whether the file itself asks for it, by a text tag or as the field of a form. Other files bring others."""


class Template(Struct, frozen=True, kw_only=True):
    id: str
    """The template's id."""
    object: str
    """Always `template`."""
    name: str
    """What it is called, and each document made from it that is given no title."""
    version: int
    """Counts its changes, from 1."""
    status: str
    """Documents can be made from it when it is `ready`."""
    files: list[File]
    """Its files, in their order."""
    roles: list[Role]
    """Who signs, and in which order: parties without people."""
    fields: list[TemplateField]
    """What is filled in, and where; `party` is the name of a role."""
    message: Message | None
    """What the invitation says; null: the usual words."""
    reminders: Reminders | None
    """When people are reminded; null: never."""
    expires_after_hours: int | None
    """How long a document can be signed, from sending; null: for ever."""
    metadata: dict[str, str]
    """Your own names and values, which each document gets."""
    language: str
    """The language of the certificate, and of whoever has none of their own."""
    signed_input: str
    """What is done with a file that was signed before it came."""
    created_at: str
    """When the template was made."""
    updated_at: str
    """When this version was made."""
    error: str | None
    """Why its files could not be converted; null unless it is `failed`."""


class TemplatePage(Struct, frozen=True, kw_only=True):
    templates: list[Template]
    """The templates of this page, each in its newest version."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class TemplateVersions(Struct, frozen=True, kw_only=True):
    versions: list[Template]
    """The versions of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""
