"""What producers are given to write documents of that search reads: a lease, with all that files lost on the way in."""

MARKDOWN = """---
title: The lease
---

# Rent

The tenant pays 900 euros on the first day of the month.[^1]

1. by transfer
2. or in cash
    1. against a receipt
    2. on working days

# Payments

| Month | Paid | Note    |
|-------|------|---------|
| May   | 900  |         |
| June  |      | delayed |

Größe – the délai is three months.

[^1]: Not on Sundays.
"""
FRACTION = "# Share\n\nEach tenant pays $\\frac{2}{3}$ of it, and $x^2$ of nothing.\n"
COMMENT = (
    'The [Is it enough?]{.comment-start id="1" author="the clerk" date="2026-05-01T00:00:00Z"}deposit'
    '[]{.comment-end id="1"} is one rent.\n'
)
SLIDES = "# Rent\n\n- 900 euros\n- on the first\n\n# Notice\n\nThree months\n\n::: notes\nSpeak of the deposit\n:::\n"
ROWS = "Name,Rent,Since,Note\nAda,900.5,2024-05-01,\nAlan,850,2025-06-01,pays late\n"
ARABIC = "يسري هذا العقد من اليوم ولا يلغى إلا كتابة"
HEBREW = "החוזה נכנס לתוקף היום"
TABLE = (
    "<tr><th>Boat</th><th>Price</th><th>Due</th></tr>"
    "<tr><td>The Heron, with both of her oars</td><td>900</td><td>May</td></tr>"
    "<tr><td>Otter</td><td></td><td>June</td></tr>"
)
STATEMENT = (
    "<table><tr><td>Item</td><td></td><td>2026</td><td></td><td></td><td>2025</td></tr>"
    "<tr><td>Rent</td><td>$</td><td>900</td><td></td><td>$</td><td>850</td></tr>"
    "<tr><td>Loss</td><td>$</td><td>(30</td><td>)</td><td></td><td></td></tr></table>"
)
NAVIGATION = (
    '<header><ul><li><a href="/">Home</a></li><li><a href="/boats">Boats</a></li>'
    '<li><a href="/oars">Oars</a></li></ul></header>'
    '<nav><a href="/prices">Prices</a></nav><div role="navigation"><a href="/help">Help</a></div>'
)
NUMBERED = (
    "<ol start='7'><li>Rent<ol><li>The rent is 900 euros.</li><li>It is due on the first.</li></ol></li>"
    "<li>Notice<ol><li>Three months.</li></ol></li></ol>"
)
LONG = "The dual-encoder reads sufficient questions efficiently, and the officer affirms that the affidavit is filed."


def page(body: str, style: str = "", language: str = "en") -> str:
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>The lease</title>'
        f"<style>{style}</style></head><body>{body}</body></html>"
    )


COLLAPSED = "table { border-collapse: collapse } td, th { border: 1px solid #000; padding: 4px }"
HTML_TABLE = page(f"<h1>Boats</h1><p>What they cost.</p><table>{TABLE}</table><p>Both have seen them.</p>", COLLAPSED)
HTML_FRAMED = page(f"<h1>Boats</h1><table border='1'>{TABLE}</table><p>Both have seen them.</p>")
HTML_PARTIES = page(
    "<h1>Parties</h1><table><tr><th>Seller</th><td>Ada Byron</td></tr>"
    "<tr><th>Buyer</th><td>Alan Turing</td></tr></table>",
    COLLAPSED,
)
HTML_SPANS = page(
    "<table><tr><th colspan='3'>Boats of 2026</th></tr><tr><th>Boat</th><th>Owner</th><th>Port</th></tr>"
    "<tr><td rowspan='2'>Heron</td><td>Ada</td><td>Bergen</td></tr><tr><td>Alan</td><td>Stavanger</td></tr></table>",
    COLLAPSED,
)
HTML_ARABIC = page(
    f"<h1>{ARABIC}</h1><table><tr><th>الاسم</th><th>المبلغ</th></tr><tr><td>علاء</td><td>900</td></tr>"
    f"<tr><td>ليلى</td><td>850</td></tr></table><p>{HEBREW}</p>",
    COLLAPSED + " body { direction: rtl }",
    "ar",
)
HTML_STATEMENT = page(f"{NAVIGATION}<main><h1>Statement</h1>{STATEMENT}</main><footer><p>Bergen, 2026</p></footer>")
HTML_LISTS = page(f"<h1>Terms</h1>{NUMBERED}<table border='1'>{TABLE}</table>")
HTML_HEADINGS = page(
    "<p class='t'>The lease</p><p>The tenant pays 900 euros.</p><p class='t'>Notice</p><p>It is three months long.</p>"
    "<p>It is given in writing, to the other party, before the first day of the month from which it counts.</p>",
    ".t { font-size: 20pt }",
)
HTML_HYPHENS = page(f"<p>{LONG}</p><p>A dual-encoder is one.</p>", "p { width: 120px; hyphens: auto; font-size: 12px }")
