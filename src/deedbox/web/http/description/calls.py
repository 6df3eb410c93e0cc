"""How the Python client names what the OpenAPI document describes: for the client's own code, and for its samples."""

import re
from collections.abc import Collection, Mapping
from typing import Any


def module_name(tag: str) -> str:
    """The tag as the name of a module and an attribute."""
    return re.sub(r"\W", "_", tag)


def method_name(tag: str, operation_id: str) -> str:
    """The operation's id without the words that the tag says already: `documents.create`, not `create_document`."""
    subject = module_name(tag).removesuffix("s")
    short = re.sub(rf"(^|_){subject}s?(?=_|$)", "", operation_id).strip("_") or operation_id
    return re.sub("^show(?=_|$)", "get", short)


def struct_names(schemas: Mapping[str, Any], taken: Collection[str] = ()) -> dict[str, str]:
    """Each schema's name without the word that only tells it from the server's own structs."""
    short = {name: re.sub(r"(?<=[a-z])(Record|Body)$", "", name) for name in schemas}
    used = [*short.values(), *schemas, *taken]
    return {name: word if word == name or used.count(word) == 1 else name for name, word in short.items()}
