"""Log lines can be parsed, name their request, and hold no secret."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from deedbox.kernel import limits, log, tasks
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.kernel.tokens import TokenPrefix, create

SECRETS = {
    "api key": ("deed_live_0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    "login token": ("/login?token=deed_login_AbC-_xyz123", "AbC-_xyz123"),
    "session cookie": ("__Host-session=deed_session_s3cr3tvalue; Path=/", "s3cr3tvalue"),
    "signing token": ("/sign/deed_sign_qwertyuiop", "qwertyuiop"),
    "webhook secret with base64's own characters": ("whsec_AAAA/BBBB+CCCC==", "BBBB"),
    **{f"{kind.name} in a path": (f"/x/{kind}aB3-_dE9", "aB3-_dE9") for kind in TokenPrefix},
    "token with an encoded underscore": ("/join/deed%5Fjoin%5fqwertyuiop", "qwertyuiop"),
    "token that was encoded twice": ("/join/deed%255Fjoin_qwertyuiop", "qwertyuiop"),
    "bearer header": ("Authorization: Bearer abc.def/ghi+jkl==", "ghi"),
    "bearer header in small letters": ("authorization: bearer  tokentoken", "tokentoken"),
    "basic header": ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpw"),
    "password in a URL": ("postgresql://deedbox:hunter2@db.example/x", "hunter2"),
    "password with odd characters": ("postgresql://deedbox:hun'ter@2\"x@db.example/x", "ter@2"),
    "password without user": ("redis://:hunter2@cache/0", "hunter2"),
    "password as a parameter": ("postgresql:///x?user=a&password=hunter2&host=b", "hunter2"),
}


class Heard(io.StringIO):
    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()

    @property
    def one(self) -> dict[str, Any]:
        (line,) = self.lines
        parsed: dict[str, Any] = json.loads(line)
        return parsed


@pytest.fixture
def heard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    root, ours = logging.getLogger(), logging.getLogger("deedbox")
    before = (root.handlers[:], root.level, ours.level)
    stream = Heard()
    monkeypatch.setattr("sys.stderr", stream)
    log.configure("info", getattr(request, "param", "json"))
    yield stream
    root.handlers[:], root_level, level = before
    root.setLevel(root_level)
    ours.setLevel(level)


def test_a_line_is_json_with_time_level_event_and_fields(heard: Heard) -> None:
    log.info("document sent", document="doc_1", pages=3, size=1.5, done=True, nothing=None)
    line = heard.one
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "event": "document sent",
        "document": "doc_1",
        "pages": 3,
        "size": 1.5,
        "done": True,
        "nothing": None,
    }


@pytest.mark.parametrize("heard", ["json", "text"], indirect=True)
def test_a_line_names_its_request(heard: Heard) -> None:
    token = log.request_id.set("req_7")
    log.info("hello")
    log.request_id.reset(token)
    log.info("bye")
    assert ["req_7" in line for line in heard.lines] == [True, False]


@pytest.mark.parametrize("heard", ["json", "text"], indirect=True)
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_logged_in_message_field_or_depth(heard: Heard, name: str) -> None:
    text, secret = SECRETS[name]
    log.info(text)
    log.warning("field", field=text)
    log.warning("deep", headers=[(b"authorization", text.encode())], deeper={"a": [{"b": (text, {text})}]})
    log.warning("as a key", names={text: 1})
    log.warning("object", cause=ValueError(text))
    assert len(heard.lines) == 5
    assert secret not in heard.getvalue()
    assert secret not in log.redact(text)


@pytest.mark.parametrize("heard", ["json", "text"], indirect=True)
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_logged_in_a_traceback(heard: Heard, name: str) -> None:
    text, secret = SECRETS[name]
    parts = text.partition(secret)
    try:
        try:
            raise ConnectionError("".join(parts))
        except ConnectionError as inner:
            raise RuntimeError(f"with {text}") from inner
    except RuntimeError as outer:
        log.error("failed", exception=outer)
    assert "RuntimeError" in heard.getvalue()
    assert "ConnectionError" in heard.getvalue()
    assert secret not in heard.getvalue()


def test_a_secret_that_follows_a_line_break_is_cut_out_too(heard: Heard) -> None:
    log.info("Bearer\nabcdefgh", note="first\nBearer\tijklmnop\nlast")
    assert "abcdefgh" not in heard.getvalue()
    assert "ijklmnop" not in heard.getvalue()
    assert heard.one["note"].endswith("\nlast")


def test_a_secret_object_stays_closed(heard: Heard) -> None:
    log.info("opened", key=Secret("hunter2"), keys=[Secret("hunter2")])
    assert heard.one["keys"] == ["Secret(…)"]
    assert "hunter2" not in heard.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/path",
        "http://[::1]:8080",
        "at 12:30:01 user@example.com wrote",
        "https://example.com/a:b@c",
        "the password is wrong",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert log.redact(text) == text


@pytest.mark.parametrize("heard", ["json", "text"], indirect=True)
def test_nothing_a_caller_sends_can_forge_a_line(heard: Heard) -> None:
    forged = "x\n2026-03-01T12:00:00Z info    forged\r\n{}\x1b[2J"
    log.info(forged, field=forged, **{forged: 1})
    log.info("also in depth", fields=[{"a": forged}])
    assert len(heard.lines) == 2
    assert "\x1b" not in heard.getvalue()


@pytest.mark.parametrize("heard", ["text"], indirect=True)
def test_a_traceback_in_text_is_indented_under_its_line(heard: Heard) -> None:
    log.error("failed", exception=ValueError("x\n2026-03-01T12:00:00Z info    forged"))
    assert [line[:1] for line in heard.lines if not line.startswith("    ")] == [heard.lines[0][:1]]


def test_a_field_cannot_replace_the_line_s_own_time_level_or_event(heard: Heard) -> None:
    log.info("real", **{"level": "forged", "time": "never"})
    assert (heard.one["event"], heard.one["level"]) == ("real", "info")
    assert heard.one["time"] != "never"


def test_values_that_json_cannot_hold_are_logged_all_the_same(heard: Heard) -> None:
    log.info("odd", name="caf\udce9", number=2**80, small=-(2**70), raw=b"\xff\x00", nan=float("nan"), cls=Heard)
    line = heard.one
    assert line["name"] == "caf\\udce9"
    assert line["number"] == str(2**80)
    assert line["nan"] is None


def test_the_level_decides_what_is_logged(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", heard)
    log.configure("warning", "json")
    log.info("quiet")
    log.warning("loud")
    assert heard.one["event"] == "loud"


def test_a_library_s_warning_becomes_a_line_and_its_chatter_does_not(heard: Heard) -> None:
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("careful: %s", "deed_live_0123456789")
    assert heard.one["event"] == "careful: deed_live_…"


def test_a_token_begins_with_its_prefix_and_is_redacted() -> None:
    for kind in TokenPrefix:
        token = create(kind).reveal()
        assert token.startswith(kind)
        assert log.redact(f"GET {token} HTTP") == f"GET {kind}… HTTP"


def test_a_loop_says_once_a_minute_that_the_database_is_away(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    def rounds(number: int, code: ErrorCode | None) -> None:
        for _ in range(number):
            with tasks.going_on("jobs cannot be claimed"):
                if code:
                    raise Unavailable("The database is away.", code=code)

    def events() -> list[str]:
        return [json.loads(line)["event"] for line in heard.lines]

    time = 1000.0
    monkeypatch.setattr(tasks, "stopwatch", lambda: time)
    rounds(50, ErrorCode.DATABASE_UNAVAILABLE)
    assert events() == ["jobs cannot be claimed"]
    time += limits.AWAY_LOG_SECONDS
    rounds(50, ErrorCode.DATABASE_UNAVAILABLE)
    rounds(3, None)
    assert events() == ["jobs cannot be claimed"] * 2 + ["the storage is back"]
    # What is no outage is said each time.
    rounds(2, ErrorCode.DRAINING)
    assert events()[3:] == ["jobs cannot be claimed"] * 2


def test_what_the_driver_repeats_is_logged_once_a_minute(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    time = 1.0
    monkeypatch.setattr(log, "stopwatch", lambda: time)
    for number in range(50):
        logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", "pool-1", number)
        logging.getLogger("some.library").warning("other %s", number)
    time += limits.AWAY_LOG_SECONDS
    logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", "pool-1", "later")
    events = [json.loads(line)["event"] for line in heard.lines]
    assert [event for event in events if "pool-1" in event] == [
        "error connecting in 'pool-1': 0",
        "error connecting in 'pool-1': later",
    ]
    assert len(events) == 52
