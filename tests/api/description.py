"""The OpenAPI document of all routes, made once in a process, when it is first asked for: that takes a second."""

import functools
from typing import Any

from deedbox.web.app import ROUTES
from deedbox.web.http import openapi


@functools.cache
def description() -> dict[str, Any]:
    return openapi.document(ROUTES)
