"""What every bench can be told: its sizes, the small size, whether its peers run, and where its figures go."""

import argparse
import json
from pathlib import Path
from typing import Any

NOT_MEASURED = "not measured"
"""A figure of a peer that did not run."""


class Options(argparse.ArgumentParser):
    """The options of one bench. `--small` shows that the bench works, in seconds; its figures say nothing."""

    def __init__(self, doc: str | None, peers: str = "") -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._peers = peers
        self._small: dict[str, Any] = {}
        self.add_argument("--small", action="store_true", help="the least that shows that it works")
        self.add_argument("--figures", type=Path, help="a JSON file for the figures, by name")
        self.add_argument("--no-peers", dest="peers", action="store_false", help=f"alone, not beside {peers or 'any'}")

    def size(self, name: str, usual: Any, small: Any, help: str = "") -> None:
        """A number, or a list of numbers, that says how much is measured."""
        several = isinstance(usual, list)
        kind = type(usual[0] if several else usual)
        self._small[name] = small
        self.add_argument(f"--{name}", type=kind, default=usual, nargs="+" if several else None, help=help)

    def wish(self) -> Any:
        """What was asked for."""
        if not self._small:
            raise SystemExit("A bench names at least one size, large and small: options.size(…)")
        if self.parse_known_args()[0].small:
            self.set_defaults(peers=False, **self._small)
        wish = self.parse_args()
        if self._peers and not wish.peers:
            print(f"without its peers ({self._peers}), as was asked")
        return wish


def tell(wish: Any, **figures: str) -> None:
    """Keeps figures by name, as they are to be shown, if the bench was told where."""
    if wish.figures is not None:
        known = json.loads(wish.figures.read_text()) if wish.figures.exists() else {}
        wish.figures.write_text(json.dumps({**known, **figures}, ensure_ascii=False))
