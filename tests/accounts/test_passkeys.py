"""What a browser says of a passkey: whatever it is, it is an answer that is wrong, and no fault here."""

import pytest

from deedbox.accounts.passkeys import ceremony
from deedbox.accounts.passkeys.ceremony import Site
from deedbox.accounts.passkeys.store import PasskeyRow
from deedbox.kernel.errors import BadRequest, Unauthorized

HERE = Site("localhost", "http://localhost:8080")
KNOWN = PasskeyRow("psk_1", "per_1", "Phone", b"credential", b"public", 0, "2026-01-01T00:00:00Z", None)


@pytest.mark.parametrize("answer", ["[" * 2000, '{"id":' * 2000, "", "[]", "{}", '{"id": 5}'])
def test_an_answer_that_is_none_is_refused(answer: str) -> None:
    with pytest.raises(Unauthorized):
        ceremony.credential_id(answer)
    with pytest.raises(Unauthorized):
        ceremony.shown(HERE, answer, b"challenge", KNOWN)
    with pytest.raises(BadRequest):
        ceremony.verify_new_passkey(HERE, answer, b"challenge")
