"""What counts as an e-mail address, and what of a name fits into a header."""

import pytest

from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.mailbox import Mailbox, checked_address, mailbox, named_mailbox, one_line
from deedbox.kernel.smtp_url import mail_server


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("a@example.com", "a@example.com"),
        ("First.Last+tag@Mail.Example.COM", "First.Last+tag@mail.example.com"),
        ("o'hara_x-1!#$%&*/=?^`{|}~@example.co", "o'hara_x-1!#$%&*/=?^`{|}~@example.co"),
        ("info@bücher.example", "info@xn--bcher-kva.example"),
        ("info@straße.example", "info@xn--strae-oqa.example"),
        ("zoë@example.com", "zoë@example.com"),
        ("zoe\u0308@example.com", "zoë@example.com"),
        ("用户@例子.广告", "用户@xn--fsqu00a.xn--4rr70v"),
        ("root@localhost", "root@localhost"),
        ("x" * 64 + "@example.com", "x" * 64 + "@example.com"),
    ],
)
def test_an_address_is_kept_with_its_domain_as_the_wire_has_it(typed: str, kept: str) -> None:
    assert checked_address(typed) == kept


@pytest.mark.parametrize(
    "typed",
    [
        "", "a", "@example.com", "a@", "a@b", "a b@example.com", "a@exam ple.com", "a@@example.com", "a@b@example.com",
        "a@example.com\n", "a@example.com\r\nBcc: x@y.example", "a\n@example.com", "a@-x.example", "a@x-.example",
        "a@x..example", ".a@example.com", "a.@example.com", "a..b@example.com", '"a b"@example.com', "a@[127.0.0.1]",
        "a@127.0.0.1", "<a@example.com>", "A <a@example.com>", "a@example.com,b@example.com", "a;b@example.com",
        "a(c)@example.com", "a\0@example.com", "a\u202e@example.com", "a\u00a0@example.com",
        "a@ex\u200bample.com\u2028", "a@" + "x." * 130 + "example",
        "x" * 65 + "@example.com", "ü" * 33 + "@example.com", "a@" + "x" * 64 + ".example",
        "a\ud800@example.com", "a@\ud800.example", "a@xn--.example\u0000", "a@＠example.com",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_address(typed)
    assert "\n" not in refused.value.message
    assert len(refused.value.message) < 400


def test_a_name_loses_what_would_break_or_turn_a_line() -> None:
    assert one_line("A\r\nBcc: x\t\0\u2028B \u202eC\u2066 ") == "A Bcc: x B C"
    assert one_line("نام\u200cها 👩\u200d🔧") == "نام\u200cها 👩\u200d🔧"
    assert mailbox("a@example.com", "x" * 500).name == "x" * 100


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("sign@example.com", Mailbox("sign@example.com")),
        ("Example <sign@example.com>", Mailbox("sign@example.com", "Example")),
        ('"Example, Ltd" <sign@example.com>', Mailbox("sign@example.com", "Example, Ltd")),
        ("Bücher <a@bücher.example>", Mailbox("a@xn--bcher-kva.example", "Bücher")),
    ],
)
def test_a_mailbox_is_written_with_or_without_a_name(written: str, read: Mailbox) -> None:
    assert named_mailbox(written) == read


@pytest.mark.parametrize("written", ["<>", "Example <>", "Example", "a@b.example <c", "<a@b.example"])
def test_half_a_mailbox_is_refused(written: str) -> None:
    with pytest.raises(BadRequest):
        assert named_mailbox(written) == Mailbox("")


def test_a_mail_server_is_read_from_its_url() -> None:
    found = mail_server(Secret("smtp://me%40example.com:p%2F%40ss@mail.example.com"))
    assert (found.scheme, found.host, found.port, found.user) == ("smtp", "mail.example.com", 587, "me@example.com")
    assert found.password == Secret("p/@ss")
    assert str(found) == "smtp://mail.example.com:587"
    assert mail_server(Secret("smtps://[::1]/")).port == 465
    assert str(mail_server(Secret("smtps://[::1]:25"))) == "smtps://[::1]:25"
    assert "p/@ss" not in repr(found)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com", "http://mail.example.com", "smtp://", "smtp://:25", "smtp://mail:x", "smtp://mail:0",
        "smtp://mail:99999", "smtp://mail/inbox", "smtp://mail?x=1", "smtp://hunter2@mail", "smtp://:hunter2@mail",
        "smtp://mail host", "smtp://mäil", "smtp://a:hunter2@mail\n", "smtp://[::1",
    ],
)  # fmt: skip
def test_what_is_no_mail_server_is_refused_unseen(url: str) -> None:
    with pytest.raises(ValueError) as refused:
        mail_server(Secret(url))
    assert "hunter2" not in str(refused.value)
