"""Runs a module as if only the base dependencies of Deedbox were installed: python -m tests.client.alone MODULE …"""

import re
import runpy
import sys
import tomllib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from types import ModuleType

from tests.docs.commands import ROOT


def needed(distribution: str, known: set[str]) -> set[str]:
    """The distributions that are known, this one and what it needs without any extra."""
    if distribution in known:
        return known
    known.add(distribution)
    try:
        wanted = requires(distribution) or []
    except PackageNotFoundError:
        return known
    for each in wanted:
        if "extra ==" not in each:
            needed(_name(each), known)
    return known


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()


class OnlyTheClient(MetaPathFinder):
    """Refuses every module of a distribution that a plain installation does not bring."""

    def __init__(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        allowed = {"deedbox"}
        for each in project["dependencies"]:
            needed(_name(each), allowed)
        self._refused = {
            module
            for module, distributions in packages_distributions().items()
            if not allowed & {name.lower() for name in distributions}
        }

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        if name.partition(".")[0] in self._refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, OnlyTheClient())
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__")
