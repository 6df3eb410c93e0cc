"""Forms that people fill in on pages."""

from litestar.datastructures import FormMultiDict

from deedbox.kernel.errors import BadRequest, UnsupportedMediaType
from deedbox.web.frame.context import AnyRequest

_KINDS = ("application/x-www-form-urlencoded", "multipart/form-data")


async def form_of(request: AnyRequest) -> FormMultiDict:
    await _need_form(request)
    try:
        return await request.form()
    except UnicodeDecodeError as error:
        raise BadRequest("The form is not text in UTF-8") from error


async def _need_form(request: AnyRequest) -> None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in _KINDS and await request.body():
        raise UnsupportedMediaType(f"Send the form as {' or '.join(_KINDS)}")


def text(form: FormMultiDict, name: str) -> str:
    """What was filled in under this name; empty if nothing was."""
    value = form.get(name, "")
    return value.replace("\0", "") if isinstance(value, str) else ""
