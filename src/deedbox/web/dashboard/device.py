"""What someone has signed with, in a few words: Chrome on Windows, for what a browser says of itself in a long line."""

import re

_BROWSERS = (
    ("Edge", re.compile(r"\bEdg(?:e|A|iOS)?/")),
    ("Opera", re.compile(r"\bOPR/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(?:Chrome|HeadlessChrome|CriOS)/")),
    ("Safari", re.compile(r"\bSafari/")),
)
"""The first that is found: each names those after it, to be taken for one of them."""
_SYSTEMS = (
    ("iPhone", re.compile(r"\biPhone\b")),
    ("iPad", re.compile(r"\biPad\b")),
    ("Android", re.compile(r"\bAndroid\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("Chromebook", re.compile(r"\bCrOS\b")),
    ("Mac", re.compile(r"\bMac(?:intosh| OS X)\b")),
    ("Linux", re.compile(r"\bLinux\b")),
)
_PROGRAM = re.compile(r"[\w.-]{1,24}")


def describe(agent: str) -> str:
    """The browser and the device; of a program, its name; empty where nothing is told."""
    browser = next((name for name, mark in _BROWSERS if mark.search(agent)), "")
    system = next((name for name, mark in _SYSTEMS if mark.search(agent)), "")
    if browser and system:
        return f"{browser} on {system}"
    program = _PROGRAM.match(agent)
    return browser or system or (program[0] if program else "")
