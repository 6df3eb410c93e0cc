"""Forms that people fill in on pages."""

from urllib.parse import parse_qsl

from litestar.datastructures import FormMultiDict
from litestar.enums import RequestEncodingType

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, UnsupportedMediaType
from deedbox.web.frame.context import AnyRequest

_KINDS = ("application/x-www-form-urlencoded", "multipart/form-data")


async def form_of(request: AnyRequest) -> FormMultiDict:
    """What was filled in; BadRequest where it is not UTF-8: the framework would put other letters in its place."""
    await _need_form(request)
    try:
        if request.content_type[0] != RequestEncodingType.URL_ENCODED:
            return await request.form()
        said, most = (await request.body()).decode(), limits.PAGE_FORM_FIELDS
        return FormMultiDict(parse_qsl(said, keep_blank_values=True, errors="strict", max_num_fields=most))
    except UnicodeDecodeError as error:
        raise BadRequest("The form is not text in UTF-8. Send it in that encoding.") from error
    except ValueError as error:
        raise BadRequest(f"The form has more than {limits.PAGE_FORM_FIELDS} fields") from error


async def _need_form(request: AnyRequest) -> None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in _KINDS and await request.body():
        raise UnsupportedMediaType(f"Send the form as {' or '.join(_KINDS)}")


def text(form: FormMultiDict, name: str) -> str:
    """What was filled in under this name; empty if nothing was."""
    value = form.get(name, "")
    return value.replace("\0", "") if isinstance(value, str) else ""
