"""Time zones are known by their IANA names, the same ones on every machine."""

import subprocess
import sys

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.zones import checked_zone


def test_an_iana_name_is_taken() -> None:
    assert [checked_zone(name) for name in ("Europe/Berlin", "Asia/Kolkata", "UTC")] == [
        "Europe/Berlin",
        "Asia/Kolkata",
        "UTC",
    ]


@pytest.mark.parametrize("name", ["", "Europe", "europe/berlin", "../../etc/passwd", "localtime", "CEST-2", "Mars/X"])
def test_anything_else_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadRequest, match="is not a time zone"):
        checked_zone(name)


def test_a_machine_without_zone_data_has_every_zone_all_the_same() -> None:
    code = "from deedbox.kernel.zones import _names, zone; [zone(name) for name in _names()];print(len(_names()) > 500)"
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONTZPATH": ""}, check=True, capture_output=True, text=True
    )
    assert ran.stdout == "True\n"
