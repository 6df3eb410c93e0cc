"""What a browser is called, from how it calls itself: enough to know one's own devices by."""

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Chromium", "Chromium"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def browser(agent: str) -> str:
    """Browser and system, such as “Firefox, Linux”; else the first word that the program says of itself."""
    known = [_first(_BROWSERS, agent), _first(_SYSTEMS, agent)]
    return ", ".join(one for one in known if one) or agent.partition("/")[0][:40]


def _first(names: tuple[tuple[str, str], ...], agent: str) -> str:
    """The name of the first mark: those that imitate others stand before them."""
    return next((name for mark, name in names if mark in agent), "")
