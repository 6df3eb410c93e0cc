"""What the fields of a struct mean: the docstring under each, read from the source when the API is described.

So a description stands beside its field, structs stay plain, and no request pays for it."""

import ast
import functools
import inspect
import itertools
import re
import sys
from collections import ChainMap
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from deedbox.accounts import limits as accounts_limits
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.constraints import structs_in
from deedbox.search import limits as search_limits
from deedbox.signing import limits as signing_limits
from deedbox.web import limits
from deedbox.web.http.description import constraints
from deedbox.webhooks import limits as webhooks_limits

_EVERY_LIST = {
    "count": "How many are in this answer.",
    "has_more": "Whether there are more.",
    "next_cursor": "Give it as `cursor` to get the next page; null on the last one.",
}
"""What means the same in every list."""
_REF = "#/components/schemas/{name}"
_LIMITS = ChainMap(*map(vars, (limits, shared_limits, accounts_limits, search_limits, signing_limits, webhooks_limits)))
"""Every limit that a description may name, by its name."""
_LIMIT = re.compile(r"\{([A-Z][A-Z0-9_]+)\}")


def schemas(kinds: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    """The schemas of these structs and of all that they hold, by name, as msgspec, which checks them, sees them."""
    every = held(kinds)
    made: dict[str, Any] = msgspec.json.schema_components(every, ref_template=_REF)[1]
    if clashing := [name for name in made if "." in name]:
        raise TypeError(f"Two structs of the API have the same name: {', '.join(clashing)}")
    for kind in every:
        _describe(made[kind.__name__]["properties"], texts(kind))
        constraints.publish(made[kind.__name__], kind)
    return made


def held(kinds: Iterable[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    """These structs and all that they hold, each once."""
    return list(structs_in(msgspec.inspect.multi_type_info(list(kinds)), set()))


def texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The description of each field that has one, inherited ones included, by the name that callers see."""
    found = {name: _EVERY_LIST[name] for name in kind.__struct_fields__ if name in _EVERY_LIST}
    for each in reversed(kind.__mro__):
        if issubclass(each, msgspec.Struct) and each is not msgspec.Struct:
            found |= _of_module(each.__module__).get(each.__name__, {})
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return {names[name]: text for name, text in found.items() if name in names}


def _describe(properties: dict[str, Any], known: dict[str, str]) -> None:
    for name, schema in properties.items():
        if name in known:
            properties[name] = {"description": known[name], **{k: v for k, v in schema.items() if k != "description"}}
        elif len(schema.get("enum", ())) == 1:
            properties[name] = {"description": f"Always `{schema['enum'][0]}`.", **schema}


@functools.cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {node.name: dict(_under_fields(node.body)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _under_fields(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            yield field.target.id, _with_limits(" ".join(below.value.value.split()))


def _with_limits(text: str) -> str:
    """The text, with the number of each limit that it names in braces."""
    return _LIMIT.sub(lambda named: f"{_LIMITS[named[1]]:,}", text)
