"""The user's own model, behind an OpenAI-compatible chat endpoint: its words as it writes them, within bounds."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.egress import Answer, Egress, EgressFailed, Request
from deedbox.kernel.errors import BadGateway, Code, DeedboxError, Unavailable
from deedbox.kernel.turns import Turns
from deedbox.search.endpoint import Endpoint

Take: TypeAlias = Callable[[str], bool]
"""What becomes of each piece of the text; whether more is wanted."""
Messages: TypeAlias = Sequence[Mapping[str, str]]


_CUT_OFF = ("length", "content_filter")
"""Why a model may have ended before its end."""


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Piece(msgspec.Struct):
    choices: list[_Choice]


_PIECE = msgspec.json.Decoder(_Piece)


class _EnoughError(Exception):
    """Nothing more is wanted of the endpoint."""


class Chat:
    """Asks the endpoint; a few at a time, one of each caller after the other."""

    def __init__(self, egress: Callable[[], Egress], endpoint: Endpoint) -> None:
        self._egress = egress
        self._own: Egress | None = None
        self._endpoint = endpoint
        self._turns = Turns(limits.CHAT_AT_ONCE, "answers")

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
        async with self._turns.one():
            try:
                answer = await self._out().send(self._request(messages, stream, tokens, seconds))
                failure = _refusal(answer)
            except _EnoughError:
                pass
            except EgressFailed as error:
                failure = _away(f"cannot be used. {error.message}")
            except _MalformedError:
                failure = _wrong("gave an answer that is no stream of a chat completion")
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
            "max_tokens": tokens,
        }
        return Request(
            "POST",
            self._endpoint.at("chat/completions"),
            headers={**self._endpoint.headers, "accept": "text/event-stream"},
            body=msgspec.json.encode(asked),
            seconds=limits.ANSWER_SECONDS if seconds is None else seconds,
            limit=limits.CHAT_RESPONSE_BYTES,
            into=stream.read,
        )

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

    async def read(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._event(line.removeprefix(b"data:").strip())

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.complete = True
            raise _EnoughError
        try:
            choices = _PIECE.decode(data).choices
        except (msgspec.DecodeError, UnicodeError) as error:
            raise _MalformedError from error
        for choice in choices[:1]:
            if text := choice.delta.content:
                wanted = self._take(text[: limits.ANSWER_CHARS - self.chars])
                self.chars += len(text)
                if not wanted or self.chars >= limits.ANSWER_CHARS:
                    raise _EnoughError
            if choice.finish_reason is not None:
                self.complete = choice.finish_reason not in _CUT_OFF
                raise _EnoughError


def _refusal(answer: Answer) -> DeedboxError:
    status = answer.status
    if status in (401, 403):
        return _wrong("refuses the key; check DEEDBOX_CHAT_KEY")
    if status == 404:
        return _wrong("does not know the model or the path; check DEEDBOX_CHAT_URL and DEEDBOX_CHAT_MODEL")
    if status in (429, 503):
        return _away(f"has no time at the moment: it answered with status {status}")
    if status // 100 == 3:
        return _wrong(f"leads elsewhere (status {status}), which is not followed; check DEEDBOX_CHAT_URL")
    return _wrong("wrote nothing" if status // 100 == 2 else f"answered with status {status}")


def _wrong(what: str) -> DeedboxError:
    return BadGateway(f"The chat endpoint {what}.", code=Code.CHAT_FAILED)


def _away(what: str) -> DeedboxError:
    return Unavailable(f"The chat endpoint {what}.", code=Code.CHAT_FAILED)
