"""Forms that people fill in on pages."""

from litestar.datastructures import FormMultiDict

from deedbox.kernel.errors import BadRequest
from deedbox.web.frame.context import AnyRequest


async def form_of(request: AnyRequest) -> FormMultiDict:
    try:
        return await request.form()
    except UnicodeDecodeError as error:
        raise BadRequest("The form is not text in UTF-8") from error


def text(form: FormMultiDict, name: str) -> str:
    """What was filled in under this name; empty if nothing was."""
    value = form.get(name, "")
    return value.replace("\0", "") if isinstance(value, str) else ""
