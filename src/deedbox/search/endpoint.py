"""An endpoint of the user's that speaks OpenAI's API, and what is said to it with every request."""

import msgspec

from deedbox.kernel.crypto import Secret


class ModelEndpoint(msgspec.Struct, frozen=True):
    """An OpenAI-compatible endpoint, up to and including its `/v1`, and the model that is asked there."""

    url: str
    model: str
    key: Secret | None

    def at(self, path: str) -> str:
        return f"{self.url.rstrip('/')}/{path}"

    @property
    def headers(self) -> dict[str, str]:
        return headers(self.key)


def headers(key: Secret | None) -> dict[str, str]:
    """Those of a request in JSON, with the key if there is one."""
    known = {"content-type": "application/json"}
    return known if key is None else {**known, "authorization": f"Bearer {key.reveal()}"}
