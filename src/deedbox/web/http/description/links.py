"""Links of the API's description: from the answer that makes an id to each operation that takes it."""

import re
from typing import Any

from deedbox.web.http.description.examples import PATHS

_NAMED = re.compile(r"\{(\w+)\}")
_CONSTANT = ("page",)
"""What is no id, and is linked to by its example."""


def connect(paths: dict[str, Any], makes: dict[str, dict[str, str]], samples: dict[str, Any]) -> None:
    """Adds the links. `makes` has the pointers to the ids that an operation's answer gives, by the operation's id."""
    for path, operations in paths.items():
        for operation in operations.values():
            given = makes[operation["operationId"]]
            for status, response in operation["responses"].items():
                if given and status.startswith("2") and _has(response, samples, given):
                    response["links"] = dict(_links(paths, given, _NAMED.findall(path)))


def _links(paths: dict[str, Any], given: dict[str, str], known: list[str]) -> list[tuple[str, dict[str, Any]]]:
    sources = {name: f"$request.path.{name}" for name in known}
    sources |= {name: PATHS[name][1] for name in _CONSTANT}
    sources |= {name: f"$response.body#{pointer}" for name, pointer in given.items()}
    found = []
    for path, operations in paths.items():
        taken = _NAMED.findall(path)
        if set(taken) <= set(sources) and set(taken) & set(given):
            parameters = {name: sources[name] for name in taken}
            found += [(each["operationId"], _link(each, parameters)) for each in operations.values()]
    return found


def _link(operation: dict[str, Any], parameters: dict[str, str]) -> dict[str, Any]:
    return {
        "operationId": operation["operationId"],
        "parameters": parameters,
        "description": operation["summary"],
    }


def _has(response: dict[str, Any], samples: dict[str, Any], given: dict[str, str]) -> bool:
    """Whether the answer is of a kind that holds these ids."""
    shown = response.get("content", {}).get("application/json", {}).get("examples", {}).get("usual", {}).get("$ref", "")
    value = samples.get(shown.rpartition("/")[2])
    return all(_at(value, pointer) is not None for pointer in given.values())


def _at(value: Any, pointer: str) -> Any:
    for word in pointer.strip("/").split("/"):
        if isinstance(value, list):
            value = value[int(word)] if int(word) < len(value) else None
        else:
            value = value.get(word) if isinstance(value, dict) else None
    return value
