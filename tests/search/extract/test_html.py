"""HTML: what a browser shows, block by block; pages made to stall a parser are refused."""

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import Extractor, html
from deedbox.search.limits import HTML_DEPTH, HTML_TAG_ATTRIBUTES


def text(page: str) -> str:
    return html.read(page.encode()).text


def test_a_formula_is_told_once_and_its_fractions_with_a_stroke() -> None:
    formula = (
        "<math><semantics><mfrac><mn>2</mn><mn>3</mn></mfrac><annotation>\\frac{2}{3}</annotation></semantics></math>"
    )
    assert text(f"Each pays {formula} of it") == "Each pays 2/3 of it"


def test_blocks_stand_apart_and_inline_elements_do_not() -> None:
    assert text("<p>One <b>bo</b>ld\n word</p><div>Two</div><div>Three</div>") == "One bold word\n\nTwo\nThree"


def test_a_break_ends_the_line() -> None:
    assert text("<p>Rue de la Loi<br>1000 Bruxelles</p>") == "Rue de la Loi\n1000 Bruxelles"


def test_what_a_browser_does_not_show_is_dropped() -> None:
    page = (
        "<head><style>p{}</style><script>var a='<p>no</p>'</script></head><nav>Menu</nav><p>Shown</p><p hidden>no</p>"
        "<div style='color:red; DISPLAY : none'><p>no</p></div><template><p>no</p></template><!-- no -->"
        "<svg><text>no</text></svg>"
    )
    assert text(page) == "Shown"


def test_headings_are_recorded_at_their_offsets_and_the_title_is_read_first() -> None:
    found = html.read(b"<title>Lease</title><h1>Rent <em>and</em><br>costs</h1><p>Due</p><h2>Term</h2>")
    assert found.text == "Lease\n\nRent and costs\n\nDue\n\nTerm"
    assert found.headings == [(7, "Rent and costs"), (28, "Term")]
    assert all(found.text[at:].startswith(title) for at, title in found.headings)


def test_a_table_gives_one_line_a_row_with_its_cells_parted() -> None:
    page = (
        "<p>Before<table><caption>Costs</caption><tr><th>Item<th>Price</tr>"
        "<tr><td><p>Rent</p><p>monthly</p><td>900<br>EUR</table>After"
    )
    assert text(page) == "Before\n\nCosts\nItem | Price\nRent monthly | 900 EUR\n\nAfter"


def test_signs_stand_beside_their_figures_and_columns_that_are_always_empty_are_none() -> None:
    page = """<table><tr><td></td><td></td><th colspan=3>2025</th><td></td><th colspan=3>2024</th></tr>
    <tr><td>Rent</td><td></td><td>$</td><td>900</td><td></td><td></td><td>$</td><td>850</td><td></td></tr>
    <tr><td>Loss</td><td></td><td>$</td><td>(20</td><td>)</td><td></td><td></td><td>7</td><td>%</td></tr>
    <tr><td>None</td><td></td><td></td><td></td><td></td><td></td><td></td><td>3</td><td></td></tr></table>"""
    assert text(page).split("\n") == ["| 2025 | 2024", "Rent | $900 | $850", "Loss | $(20) | 7%", "None |  | 3"]


def test_cells_that_are_empty_only_in_some_rows_keep_their_place() -> None:
    page = "<table><tr><th>Month<th>Paid<th>Note<tr><td>May<td><td>late<tr><td>June<td>850<td></table>"
    assert text(page) == "Month | Paid | Note\nMay |  | late\nJune | 850"


@pytest.mark.parametrize("rows", ["<td colspan=99999>x" * 3000, "<tr><td colspan=1000><td>x" * 3000])
def test_wide_cells_cost_no_more_than_narrow_ones(rows: str) -> None:
    assert text(f"<table>{rows}</table>").count("x") == 3000


def test_what_leads_through_the_site_is_left_out() -> None:
    links = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("Home", "News", "About us"))
    page = f"""<div role=navigation>Menu</div><form role="search"><label>Find</label></form>
    <header><h1>Lease</h1><ul>{links}</ul></header><main><p>The rent.</p><ul>{links}</ul></main>
    <footer><ul>{links}</ul><p>Harbour Ltd</p><ul><li><a>a</a> and text<li><a>b</a><li><a>c</a></ul></footer>"""
    assert text(page) == "Lease\n\nThe rent.\n\n- Home\n- News\n- About us\n\nHarbour Ltd\n\n- a and text\n- b\n- c"


def test_a_table_that_arranges_the_page_is_read_as_blocks() -> None:
    page = "<table><tr><td><h1>News</h1><p>First</p><p>Second</p></td><td><table><tr><td>a<td>b</table></td></table>"
    found = html.read(page.encode())
    assert found.text == "News\n\nFirst\n\nSecond\n\na | b"
    assert found.headings == [(0, "News")]


def test_items_of_a_list_are_marked_and_follow_each_other() -> None:
    assert text("Parties:<ul><li><p>lessor</p><li>lessee<ol><li>spouse</ol></ul>End") == (
        "Parties:\n\n- lessor\n- lessee\n1. spouse\n\nEnd"
    )


def test_items_that_a_browser_numbers_have_their_numbers() -> None:
    assert text("<ol start=7><li>Rent<ol type=a><li>Due<li>Late</ol><li value=12>Notice<li>End</ol>") == (
        "7. Rent\na. Due\nb. Late\n12. Notice\n13. End"
    )
    assert text("<ol type=A start=26><li>Last<li>First<li>Next</ol><ol type=a start=703><li>Far</ol>") == (
        "Z. Last\nAA. First\nAB. Next\n\naaa. Far"
    )
    assert text("<ol type=I><li value=4>Four</ol><ol start=x><li value=-1>One</ol><li>None") == (
        "IV. Four\n\n1. One\n\n- None"
    )


def test_preformatted_text_keeps_its_lines_and_indents() -> None:
    assert text("<pre>if a:\n    b\n</pre>") == "if a:\n    b"


def test_entities_are_decoded_and_the_text_of_an_image_is_read() -> None:
    assert text("<p>5&nbsp;&euro; &lt;net&gt; &#x41;</p><img alt='A seal'>") == "5 € <net> A\n\nA seal"


@pytest.mark.parametrize(
    "data",
    [
        '<meta charset="iso-8859-1"><p>Größe €</p>'.encode("cp1252"),
        '<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-15"><p>Größe €</p>'.encode("iso8859-15"),
        b"\xef\xbb\xbf" + "<p>Größe €</p>".encode(),
        "\ufeff<p>Größe €</p>".encode("utf-16-le"),
        '<meta charset="latin1"><p>Größe €</p>'.encode(),
        '<meta charset="punycode"><p>Größe €</p>'.encode("cp1252"),
        "<p>Größe €</p>".encode("cp1252"),
    ],
)
def test_the_charset_is_found_by_mark_by_declaration_or_by_the_bytes(data: bytes) -> None:
    assert html.read(data).text == "Größe €"


def test_a_declared_charset_is_believed_where_the_bytes_do_not_speak() -> None:
    page = '<meta charset="koi8-r"><p>Да</p>'
    assert html.read(page.encode("koi8-r")).text == "Да"


def test_a_page_without_text_is_no_error() -> None:
    assert text("<p></p>") == ""


def test_old_pages_that_leave_their_tags_open_are_read() -> None:
    page = "<ul>" + "<li>item <p>more" * (2 * HTML_DEPTH) + "</ul>" + "<p>line" * (2 * HTML_DEPTH)
    assert text(page).count("item") == 2 * HTML_DEPTH


def test_tags_in_scripts_and_comments_do_not_count_as_nesting() -> None:
    inside = "<div>" * (2 * HTML_DEPTH)
    assert text(f"<script>'{inside}'</SCRIPT ><!--{inside}--><p>Shown") == "Shown"


@pytest.mark.parametrize("tag", ["<div>", "<b>", "<font size=1>", "<x-y>"])
@pytest.mark.anyio
async def test_a_page_nested_too_deep_is_refused_by_name(tag: str, extractor: Extractor) -> None:
    with pytest.raises(BadRequest, match=f"nested more than {HTML_DEPTH:,} deep"):
        await extractor.extract(tag.encode() * 100_000, "html")
    assert (await extractor.extract(b"<p>next", "html")).text == "next"


@pytest.mark.parametrize(
    "tag",
    [
        "<p " + " ".join(f"a{number}=1" for number in range(HTML_TAG_ATTRIBUTES + 1)) + ">x",
        "<meta " * 100_000 + "charset",
    ],
)
def test_a_tag_with_too_many_attributes_is_refused_by_name(tag: str) -> None:
    with pytest.raises(BadRequest, match="attributes"):
        text(tag)


def test_pages_as_deep_as_is_allowed_are_read() -> None:
    assert text("<div>" * HTML_DEPTH + "deep") == "deep"


@pytest.mark.parametrize(
    "page",
    [
        "<!--" * 100_000,
        "<script" * 100_000,
        "<title>" * 100_000,
        "&" * 500_000,
        "<p style='" + "display:" * 200_000,
    ],
)
@pytest.mark.anyio
async def test_pages_that_never_end_what_they_begin_get_an_answer(page: str, extractor: Extractor) -> None:
    found = await extractor.extract(page.encode(), "html")
    assert len(found.text) <= len(page)
