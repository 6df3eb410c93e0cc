"""An endpoint of the user's that speaks OpenAI's API, and what is said to it with every request."""

import msgspec

from deedbox.kernel.crypto import Secret
from deedbox.search.embed import NO_PREFIXES, Prefixes


class Endpoint(msgspec.Struct, frozen=True):
    """An OpenAI-compatible endpoint, up to and including its `/v1`, and the model that is asked there."""

    url: str
    model: str
    key: Secret | None
    prefixes: Prefixes = NO_PREFIXES
    """What a model that embeds wants before its texts."""

    def at(self, path: str) -> str:
        return f"{self.url.rstrip('/')}/{path}"

    @property
    def headers(self) -> dict[str, str]:
        known = {"content-type": "application/json"}
        return known if self.key is None else {**known, "authorization": f"Bearer {self.key.reveal()}"}
