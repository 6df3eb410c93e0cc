"""Forms that people fill in on pages."""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import msgspec
from litestar import Response
from litestar.datastructures import FormMultiDict
from litestar.enums import RequestEncodingType

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import idempotency, validation_errors
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, ErrorCode, ServiceError, UnsupportedMediaType
from deedbox.kernel.idempotency import KeyedRequest, StoredResponse
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest

T = TypeVar("T", bound=msgspec.Struct)
ONCE = "once"
"""The hidden value of a form by which a second press is known for one."""
_KINDS = ("application/x-www-form-urlencoded", "multipart/form-data")


async def form_of(request: AnyRequest) -> FormMultiDict:
    """What was filled in; BadRequest where it is not UTF-8: the framework would put other letters in its place."""
    await _need_form(request)
    try:
        if request.content_type[0] != RequestEncodingType.URL_ENCODED:
            return await request.form()
        said = await request.body()
        if len(said) > limits.FORM_AT_ONCE_BYTES:
            return FormMultiDict(await asyncio.to_thread(_pairs, said))
        return FormMultiDict(_pairs(said))
    except UnicodeDecodeError as error:
        raise BadRequest(WORDS["form_not_text"]) from error
    except ValueError as error:
        raise BadRequest(f"The form has more than {limits.PAGE_FORM_FIELDS} fields") from error


def _pairs(said: bytes) -> list[tuple[str, str]]:
    most = limits.PAGE_FORM_FIELDS
    return parse_qsl(said.decode(), keep_blank_values=True, errors="strict", max_num_fields=most)


async def _need_form(request: AnyRequest) -> None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in _KINDS and await request.body():
        raise UnsupportedMediaType(f"Send the form as {' or '.join(_KINDS)}")


def text(form: FormMultiDict, name: str) -> str:
    """What was filled in under this name; empty if nothing was."""
    value = form.get(name, "")
    return value.replace("\0", "") if isinstance(value, str) else ""


class WrongForm(BadRequest):
    """What is wrong with a form, by the names of its fields."""

    def __init__(self, wrong: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {said}" for name, said in wrong.items()))
        self.wrong = dict(wrong)


def read_struct(form: FormMultiDict, kind: type[T]) -> T:
    """The struct that the form's names spell: `signers.0.email` is the address of the first of its signers.

    What is left empty counts as left out. WrongForm with every field that is wrong."""
    given = _nested(form)
    wrong: dict[str, str] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in given:
            if field.required:
                wrong[field.encode_name] = WORDS["fill_in"]
            continue
        try:
            msgspec.convert(given[field.encode_name], field.type, strict=False)
        except msgspec.ValidationError as error:
            place, said = validation_errors.locate(field.type, error)
            name = (field.encode_name + place).replace("[", ".").replace("]", "")
            wrong[name] = WORDS["fill_in"] if said == "missing" else f"{said[:1].upper()}{said[1:]}."
    if wrong:
        raise WrongForm(wrong)
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(validation_errors.describe(kind, error)) from error


def convert(given: Mapping[str, Any], kind: type[T]) -> T:
    """The struct with these values, as the API would be told them; BadRequest without the name of the field."""
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        _, said = validation_errors.locate(kind, error)
        raise BadRequest(f"{said[:1].upper()}{said[1:]}.") from error


def wrong(error: ServiceError | None) -> dict[str, str]:
    """What is wrong beside which field; nothing, where the error is about no field."""
    found: dict[str, str] = getattr(error, "wrong", {})
    return found


def refusal(error: ServiceError, **more: Any) -> Response[Any]:
    """The error for a script of the page: what is wrong, and beside which fields."""
    said = {"error": error.message, "wrong": wrong(error), **more}
    return Response(said, status_code=error.status, headers=error.headers)


@contextmanager
def beside(name: str, kind: type[ServiceError] = ServiceError) -> Iterator[None]:
    """An error of this kind is about the field of this name, unless a `beside` within this one says otherwise."""
    try:
        yield
    except kind as error:
        if not hasattr(error, "wrong"):
            error.wrong = {name: error.message.removeprefix(f"{name}: ")}  # type: ignore[attr-defined]
        raise


def _nested(form: FormMultiDict) -> dict[str, Any]:
    """The form as JSON would have it; numbers in names are places in a list, whatever their gaps."""
    root: dict[str, Any] = {}
    for name, value in form.multi_items():
        parts = name.split(".")
        if not isinstance(value, str) or not value.strip() or name == ONCE or len(parts) > limits.FORM_NAME_PARTS:
            continue
        at: Any = root
        for part in parts[:-1]:
            at = at.setdefault(part, {}) if isinstance(at, dict) else at
        if not isinstance(at, dict) or isinstance(at.get(parts[-1]), dict):
            raise BadRequest(f"The form names {name[: shared_limits.MISTAKE_CHARS]} both as a value and as a group")
        at[parts[-1]] = value.replace("\0", "")
    return {name: _listed(value) for name, value in root.items()}


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _listed(each) for name, each in value.items()}
    if all(name.isdecimal() for name in inner):
        return [inner[name] for name in sorted(inner, key=lambda name: (len(name), name))]
    return inner


def new_once() -> str:
    """The hidden value of a form that is shown now."""
    return secrets.token_urlsafe(16)


class Sending:
    """A form that someone has sent: a second press of its button does nothing more, and leads to the same place."""

    def __init__(self, request: AnyRequest, form: FormMultiDict) -> None:
        here, key = context.of(request), text(form, ONCE)
        self._deedbox, self._now = here.deedbox, here.deedbox.clock.now()
        said = urlencode([(name, str(value)) for name, value in form.multi_items()]).encode()
        # What is filled in is part of the key: a form that comes back from the browser's history, and is changed,
        # is another one.
        hashed = hashlib.sha256(said).hexdigest()
        this = idempotency.fingerprint(request.method, request.scope["path"], said)
        self.keyed = KeyedRequest(here.subject, f"form:{key[: limits.IDEMPOTENCY_KEY_CHARS]}:{hashed}", this)
        self.known = bool(key)

    async def before(self) -> str | None:
        """Where this very form has led before."""
        if not self.known:
            return None
        deedbox, keyed = self._deedbox, self.keyed
        answer = await deedbox.db.read(lambda tx: idempotency.given_before(tx, deedbox.box, keyed, now=self._now))
        return answer.body.decode() if answer else None

    async def once(self, act: Callable[[Tx], str]) -> str:
        """The path that the act leads to; kept with its effect."""
        deedbox, keyed, now = self._deedbox, self.keyed, self._now
        if not self.known:
            return await deedbox.db.write(act)
        answer = await deedbox.db.write(
            lambda tx: idempotency.once(
                tx, deedbox.box, keyed, lambda tx: StoredResponse(303, act(tx).encode()), now=now
            )
        )
        return answer.body.decode()


async def press(request: AnyRequest, act: Callable[[Tx], str]) -> str:
    """The path that the act of a button leads to, once however often it is pressed."""
    with send_once(request, await form_of(request)) as sent:
        return await sent.before() or await sent.once(act)


@contextmanager
def send_once(request: AnyRequest, form: FormMultiDict) -> Iterator[Sending]:
    """While this lasts, a second press of the same button is refused."""
    sent, running = Sending(request, form), context.of(request).deedbox.running_keys
    this = (sent.keyed.caller, sent.keyed.key)
    if this in running:
        raise Conflict(
            "The same form is being saved at this moment. Load the page again.", code=ErrorCode.IDEMPOTENCY_IN_PROGRESS
        )
    running.add(this)
    try:
        yield sent
    finally:
        running.discard(this)
