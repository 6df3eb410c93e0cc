"""What people read: in their language, with everything that someone typed shown and nothing of it obeyed."""

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from deedbox import i18n
from deedbox.kernel.mailbox import Mailbox
from deedbox.mail import CompletionMail, Invitation, Letter, Mail, MailAttachment, MailLook, MailShade, limits
from deedbox.mail.templates import render
from tests.mail.letters import CODE, LETTERS, LINK, READER, TITLE

HOSTILE = "<img src=x onerror=alert(1)>\"'{{ 7*7 }}{sender}%s&amp;"
EVERY = [(kind, language) for kind in LETTERS for language in i18n.LANGUAGES]


class Tags(HTMLParser):
    """Every tag and address of a page, and whether all that was opened is closed."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "background")]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


def mail(letter: Letter, language: str = "en", **more: object) -> Mail:
    return Mail(to=READER, letter=letter, language=language, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_every_letter_is_whole_in_text_and_html(kind: str, language: str) -> None:
    letter = LETTERS[kind]
    rendered = render(mail(letter, language), attached=False)
    tags = parsed(rendered.html)
    assert rendered.html.startswith("<!doctype html>")
    assert f'<html lang="{language}" dir="{i18n.direction(language)}">' in rendered.html
    for text in (rendered.text, tags.text):
        assert "Zoë Đặng" in text
        assert i18n.table(language)["mail.footer"] in text
    assert "{" not in rendered.text + rendered.subject
    assert "\n\n\n" not in rendered.text
    told = [getattr(letter, name, None) for name in ("link", "code")]
    told += [value for one in getattr(letter, "verifications", []) for value in (one.link, one.code)]
    for value in told:
        assert value is None or (value in rendered.text and value in tags.text)


@pytest.mark.parametrize("kind", LETTERS)
def test_nothing_is_fetched_when_a_mail_is_opened(kind: str) -> None:
    html = render(mail(LETTERS[kind]), attached=False).html
    tags = parsed(html)
    assert not {"img", "script", "link", "iframe", "object", "form", "svg"} & set(tags.names)
    assert not re.search(r"url\(|@import|@font-face", html)
    known = [getattr(LETTERS[kind], "link", None)]
    known += [one.link for one in getattr(LETTERS[kind], "verifications", [])]
    assert set(tags.addresses) <= {address for address in known if address}


@pytest.mark.parametrize("kind", LETTERS)
def test_a_layout_table_is_no_table_to_a_screen_reader_and_dark_mode_is_provided_for(kind: str) -> None:
    html = render(mail(LETTERS[kind]), attached=False).html
    assert html.count("<table") == html.count('<table role="presentation"')
    assert html.count("<h1") == 1
    assert "prefers-color-scheme: dark" in html
    assert 'name="color-scheme" content="light dark"' in html


def test_what_people_typed_is_shown_and_never_obeyed() -> None:
    letter = Invitation(sender=HOSTILE, title=HOSTILE, link=LINK, body=f"{HOSTILE}\n{HOSTILE}", subject=None)
    rendered = render(Mail(to=Mailbox("a@b.example", HOSTILE), letter=letter), attached=False)
    tags = parsed(rendered.html)
    assert "img" not in tags.names
    assert tags.text.count(HOSTILE) >= 5
    assert rendered.text.count(HOSTILE) >= 5
    assert HOSTILE in rendered.subject


@pytest.mark.parametrize("kind", ["declined", "voided"])
def test_a_reason_is_quoted_and_escaped(kind: str) -> None:
    rendered = render(mail(replace(LETTERS[kind], reason=f"one\n{HOSTILE}")), attached=False)
    assert f"> one\n> {HOSTILE}" in rendered.text
    assert "one<br>&lt;img src=x" in rendered.html


def test_a_line_break_in_a_name_or_title_becomes_a_space() -> None:
    letter = Invitation(sender="A\r\nBcc: x@y.example", title="T\n\nFake: 1\u2028\u202eevil", link=LINK)
    rendered = render(Mail(to=Mailbox("a@b.example", "N\nBcc: z"), letter=letter), attached=False)
    assert rendered.subject == "A Bcc: x@y.example asks you to sign: T Fake: 1 evil"
    assert "Hello N Bcc: z," in rendered.text


def test_the_sender_s_own_subject_is_taken_and_cut_to_its_bound() -> None:
    own = replace(LETTERS["invitation"], subject="Please\nsign")
    assert render(mail(own), attached=False).subject == "Please sign"
    long = render(mail(replace(own, subject="ü" * 5000)), attached=False).subject
    assert (len(long), long[-1]) == (limits.MAIL_SUBJECT_CHARS, "…")


def test_a_code_is_not_in_the_subject_that_a_locked_screen_shows() -> None:
    rendered = render(mail(LETTERS["code"]), attached=False)
    assert CODE not in rendered.subject
    preview = rendered.html.partition("display:none")[2].partition("</div>")[0]
    assert CODE not in preview


def test_the_end_of_the_time_to_sign_is_written_in_the_reader_s_language() -> None:
    assert "Sign by: 1 April 2026, 12:30 UTC" in render(mail(LETTERS["invitation"]), attached=False).text
    assert "Frist: 1. April 2026, 12:30 UTC" in render(mail(LETTERS["invitation"], "de"), attached=False).text


def test_without_an_end_or_a_message_there_is_no_trace_of_one() -> None:
    bare = Invitation(sender="Harbour Ltd", title=TITLE, link=LINK)
    rendered = render(mail(bare), attached=False)
    assert "Sign by" not in rendered.text + rendered.html
    assert "Message from" not in rendered.text + rendered.html


@pytest.mark.parametrize(
    ("given", "taken"), [("de", "de"), ("de-AT", "de"), ("DE_ch", "de"), ("en", "en"), ("tlh", "en"), ("", "en")]
)
def test_the_nearest_language_is_taken(given: str, taken: str) -> None:
    assert i18n.known(given) == taken


def test_a_completion_says_whether_the_file_is_attached() -> None:
    letter = LETTERS["completion"]
    assert isinstance(letter, CompletionMail)
    enclosing = mail(letter, attachments=[MailAttachment("0" * 64, "lease.pdf")])
    assert "are attached to this email" in render(enclosing, attached=True).text
    assert "too large to attach" in render(enclosing, attached=False).text
    alone = render(mail(letter), attached=False)
    assert "attached" not in alone.text
    assert "too large" not in alone.text


def test_a_mail_comes_in_the_name_and_colour_of_its_workspace() -> None:
    look = MailLook(name="<Harbour>", light=MailShade("#7a1f5c", "#ffffff"), dark=MailShade("#e0a0d0", "#06211a"))
    own = render(mail(LETTERS["invitation"], look=look), attached=False).html
    assert "<bdi>&lt;Harbour&gt;</bdi>" in own
    assert 'style="background-color:#7a1f5c;' in own
    assert ".button, .button a { background-color: #e0a0d0 !important; color: #06211a !important; }" in own
    plain = render(mail(LETTERS["invitation"]), attached=False).html
    assert "<bdi>Deedbox</bdi>" in plain
    assert "#7a1f5c" not in plain
