"""Whatever the trail of a sealed document can tell has words on its certificate."""

import re
from pathlib import Path

import pytest

import deedbox.signing
from deedbox import i18n

AFTER_OR_WITHOUT_A_SEAL = {
    "document.completed", "document.voided", "document.expired", "document.failed", "document.restamped",
}  # fmt: skip


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_act_before_the_seal_has_its_words(language: str) -> None:
    code = "".join(path.read_text("utf-8") for path in Path(deedbox.signing.__path__[0]).rglob("*.py"))
    recorded = set(re.findall(r"ctx\.record\(\s*[\w.]+,\s*\"([a-z.]+)\"", code)) | {"document.sealing"}
    assert {"signer.signed", "document.sent"} < recorded
    assert recorded - AFTER_OR_WITHOUT_A_SEAL <= i18n.of_use(language, "certificate").keys()
