"""The user's own model, behind an OpenAI-compatible chat endpoint: its words as it writes them, within bounds."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.egress import Egress, EgressFailed, EgressResponse, Request
from deedbox.kernel.errors import BadGateway, ErrorCode, ServiceError, Unavailable
from deedbox.kernel.fairness import FairQueue
from deedbox.search import limits
from deedbox.search.endpoint import ModelEndpoint

Take: TypeAlias = Callable[[str], bool]
"""What becomes of each piece of the text; whether more is wanted."""
Messages: TypeAlias = Sequence[Mapping[str, str]]


_CUT_OFF = ("length", "content_filter")
"""Why a model may have ended before its end."""


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None
    """Empty or null while the model writes."""


class _Piece(msgspec.Struct):
    choices: list[_Choice] | None = None


class _Error(msgspec.Struct):
    message: str


class _Refusal(msgspec.Struct):
    error: _Error | str | None = None
    message: str | None = None


_PIECE = msgspec.json.Decoder(_Piece)
_REFUSAL = msgspec.json.Decoder(_Refusal)
_LINE_END = re.compile(rb"\r\n|\n|\r(?!$)")
_OTHER_NAME = "max_completion_tokens"
"""What newer models of OpenAI take in place of `max_tokens`, which they refuse."""
_NO_STREAM = "gave an answer that is not a stream of a chat completion"


class _EnoughError(Exception):
    """Nothing more is wanted of the endpoint."""


class Chat:
    """Asks the endpoint; a few at a time, one of each caller after the other."""

    def __init__(self, egress: Callable[[], Egress], endpoint: ModelEndpoint) -> None:
        self._egress = egress
        self._own: Egress | None = None
        self._endpoint = endpoint
        self._turns = FairQueue(limits.CHAT_AT_ONCE, "answers")
        self._limit_name = "max_tokens"
        """What the endpoint calls the number of tokens; the other name once it has refused this one."""

    @property
    def model(self) -> str:
        return self._endpoint.model

    async def write(
        self,
        messages: Messages,
        take: Take,
        *,
        tokens: int = limits.ANSWER_TOKENS,
        seconds: float | None = None,
    ) -> bool:
        """Hands on what the model writes as it comes; whether it came to its end.

        What breaks off after its first word is an answer without an end. BadGateway or Unavailable if none came."""
        stream, failure = _Stream(take), _wrong("wrote nothing")
        async with self._turns.slot():
            try:
                answer = await self._out().send(self._request(messages, stream, tokens, seconds))
                if answer.status == 400 and _OTHER_NAME.encode() in answer.body and self._limit_name != _OTHER_NAME:
                    self._limit_name = _OTHER_NAME
                    answer = await self._out().send(self._request(messages, stream, tokens, seconds))
                stream.end()
                failure = self._refusal(answer, stream)
            except _EnoughError:
                failure = self._failure(stream)
            except EgressFailed as error:
                failure = _away(f"cannot be used. {error.message}")
            except _MalformedError:
                failure = _wrong(_NO_STREAM)
        if stream.chars == 0:
            raise failure
        return stream.complete

    def _out(self) -> Egress:
        # Connections of its own: webhooks and time-stamps must not wait for whoever writes slowly.
        if self._own is None:
            self._own = self._egress().apart(limits.CHAT_AT_ONCE)
        return self._own

    def _request(self, messages: Messages, stream: "_Stream", tokens: int, seconds: float | None) -> Request:
        asked = {
            "model": self.model,
            "messages": messages,
            "stream": True,
            "temperature": 0,
            self._limit_name: tokens,
        }
        return Request(
            "POST",
            self._endpoint.at("chat/completions"),
            headers={**self._endpoint.headers, "accept": "text/event-stream"},
            body=msgspec.json.encode(asked),
            seconds=shared_limits.ANSWER_SECONDS if seconds is None else seconds,
            limit=limits.CHAT_RESPONSE_BYTES,
            into=stream.read,
        )

    def _failure(self, stream: "_Stream") -> ServiceError:
        """Why a stream that was not refused brought no word."""
        if stream.error is not None:
            return _wrong(f"reported an error: {self._shown(stream.error)}")
        if stream.is_cut_off:
            return _wrong("used all its tokens before it wrote a word. Use a model that thinks less, or not at all")
        return _wrong("wrote nothing")

    def _refusal(self, answer: EgressResponse, stream: "_Stream") -> ServiceError:
        status = answer.status
        if status in (401, 403):
            return _wrong("refuses the key; check DEEDBOX_CHAT_KEY")
        if status // 100 == 3:
            return _wrong(f"leads elsewhere (status {status}), which is not followed; check DEEDBOX_CHAT_URL")
        if status // 100 == 2:
            return self._failure(stream) if stream.has_events else _wrong(_NO_STREAM)
        told = _message(answer.body)
        said = f". It said: {self._shown(told)}" if told else ""
        if status == 404:
            return _wrong(f"does not know the model or the path; check DEEDBOX_CHAT_URL and DEEDBOX_CHAT_MODEL{said}")
        if status in (429, 503):
            return _away(f"has no time at the moment: it answered with status {status}{said}")
        return _wrong(f"answered with status {status}{said}")

    def _shown(self, message: str) -> str:
        """The endpoint's own message, on one line and of bounded length, without the key that it may repeat."""
        key = self._endpoint.key
        if key is not None and key.reveal():
            message = message.replace(key.reveal(), "…")
        line = " ".join("".join(sign if sign.isprintable() else " " for sign in message).split())
        return line[: limits.CHAT_ERROR_CHARS].rstrip(".")

    async def close(self) -> None:
        if self._own is not None:
            await self._own.close()


class _MalformedError(Exception):
    """The endpoint sent something else than a chat completion."""


class _Stream:
    """The endpoint's events, taken apart as they come."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._rest = b""
        self.chars = 0
        """How much the model has written."""
        self.complete = False
        self.has_events = False
        self.is_cut_off = False
        """Whether the endpoint ended it before the model did."""
        self.error: str | None = None
        """What the endpoint reported instead of an answer."""

    async def read(self, data: bytes) -> None:
        *lines, self._rest = _LINE_END.split(self._rest + data)
        for line in lines:
            self._line(line)

    def end(self) -> None:
        """Read the last line, which may have no end."""
        rest, self._rest = self._rest, b""
        try:
            self._line(rest.rstrip(b"\r"))
        except _EnoughError:
            return

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self.has_events = True
            self._event(line.removeprefix(b"data:").strip())

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.complete = True
            raise _EnoughError
        try:
            piece = _PIECE.decode(data)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise _MalformedError from error
        if piece.choices is None:
            self.error = _message(data)
            if self.error is None:
                raise _MalformedError
            raise _EnoughError
        for choice in piece.choices[:1]:
            if choice.delta is not None and (text := choice.delta.content):
                wanted = self._take(text[: limits.ANSWER_CHARS - self.chars])
                self.chars += len(text)
                if not wanted or self.chars >= limits.ANSWER_CHARS:
                    raise _EnoughError
            if choice.finish_reason:
                self.is_cut_off = choice.finish_reason in _CUT_OFF
                self.complete = not self.is_cut_off
                raise _EnoughError


def _message(body: bytes) -> str | None:
    """The message of an error as OpenAI, or a server like it, writes it; None if it is none."""
    try:
        told = _REFUSAL.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        return None
    error = told.error if told.error is not None else told.message
    return error.message if isinstance(error, _Error) else error


def _wrong(what: str) -> ServiceError:
    return BadGateway(f"The chat endpoint {what}.", code=ErrorCode.CHAT_FAILED)


def _away(what: str) -> ServiceError:
    return Unavailable(f"The chat endpoint {what}.", code=ErrorCode.CHAT_FAILED)
