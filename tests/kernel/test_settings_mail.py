"""The settings of mail are whole before anything starts, and the password in them is never shown."""

from pathlib import Path

import pytest

from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import load

URL, FROM = "DEEDBOX_SMTP_URL", "DEEDBOX_MAIL_FROM"
GOOD = {URL: "smtps://me:hunter22@mail.example.com", FROM: "Example <sign@example.com>"}


def refusal(environment: dict[str, str]) -> SetupError:
    with pytest.raises(SetupError) as refused:
        load(environment)
    assert refused.value.next_step
    assert "hunter22" not in str(refused.value)
    return refused.value


def test_a_mail_server_and_a_sender_are_taken() -> None:
    found = load({**GOOD, "DEEDBOX_SMTP_CA_FILE": "ca.pem"})
    assert found.smtp_url == Secret(GOOD[URL])
    assert (found.mail_from, found.smtp_ca_file, found.smtp_plain) == (GOOD[FROM], Path("ca.pem"), False)
    assert "hunter22" not in repr(found)
    assert load({}).smtp_url is None


@pytest.mark.parametrize(
    "url",
    [
        "hunter22",
        "https://me:hunter22@mail.example.com",
        "smtp://hunter22@mail",
        "smtp://me:hunter22@",
        "smtp://x:y:z@",
    ],
)
def test_what_is_no_mail_server_is_refused_by_the_name_of_the_setting(url: str) -> None:
    assert URL in refusal({**GOOD, URL: url}).reason


@pytest.mark.parametrize("sender", ["nobody", "Example <>", "a@b", "a@example.com\nBcc: x@y.example"])
def test_what_is_no_sender_is_refused_by_the_name_of_the_setting(sender: str) -> None:
    assert FROM in refusal({**GOOD, FROM: sender}).reason
    assert FROM in refusal({FROM: sender}).reason


def test_a_mail_server_needs_a_sender() -> None:
    assert FROM in refusal({URL: GOOD[URL]}).reason


@pytest.mark.parametrize("url", [GOOD[URL], "smtps://mail", "smtp://me:hunter22@mail"])
def test_plain_connections_carry_no_password(url: str) -> None:
    assert "DEEDBOX_SMTP_PLAIN" in refusal({**GOOD, URL: url, "DEEDBOX_SMTP_PLAIN": "true"}).reason
    assert load({**GOOD, URL: "smtp://10.0.0.5:25", "DEEDBOX_SMTP_PLAIN": "true"}).smtp_plain
