"""CSV: one line a row, found by its own words and by the names of its columns."""

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import Extractor, csv
from deedbox.search.limits import CSV_FIELD_CHARS


def text(table: str) -> str:
    return csv.read(table.encode()).text


def test_each_row_carries_the_names_of_its_columns() -> None:
    assert text("name,city\nAda,London\nAlan,Wilmslow\n") == (
        "name | city\nname: Ada | city: London\nname: Alan | city: Wilmslow\n"
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    table = "\n".join(delimiter.join(row) for row in (["name", "paid"], ["Ada", "9"], ["Alan", "8"]))
    assert text(table) == "name | paid\nname: Ada | paid: 9\nname: Alan | paid: 8\n"


def test_commas_in_amounts_do_not_win_over_semicolons() -> None:
    assert text("name;paid\nAda;1,50\nAlan;2,50\n").splitlines()[1] == "name: Ada | paid: 1,50"


def test_a_declared_delimiter_is_believed_and_is_no_row() -> None:
    assert text("sep=;\na,x;b\n1;2\n") == "a,x | b\na,x: 1 | b: 2\n"


def test_quoted_fields_may_hold_delimiters_quotes_and_lines() -> None:
    assert (
        text('name,note\nAda,"first, ""second""\nthird"\n').splitlines()[1] == 'name: Ada | note: first, "second" third'
    )


def test_a_table_without_names_is_read_as_it_is() -> None:
    assert text("1,2\n3,4\n") == "1 | 2\n3 | 4\n"


@pytest.mark.parametrize("head", ["a,a", "a,", "a,12.5"])
def test_a_first_row_that_cannot_be_names_is_a_row(head: str) -> None:
    assert text(f"{head}\n3,4\n").endswith("\n3 | 4\n")


def test_empty_values_get_no_name_and_extra_values_none_either() -> None:
    assert text("a,b\n,2\n1,2,3\n,\n") == "a | b\nb: 2\na: 1 | b: 2 | 3\n"


def test_a_single_column_is_read() -> None:
    assert text("word\nanother\n") == "word\nanother\n"


def test_a_table_too_long_to_be_written_anew_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deedbox.search.extract.csv.CSV_WRITTEN_CHARS", 60)
    table = "first name,last name\nA,B\nC,D\nE,F\n"
    assert text(table) == table


def test_a_table_without_rows_is_no_error() -> None:
    assert text("\n,,\n") == ""


@pytest.mark.anyio
async def test_a_giant_field_is_refused_by_name(extractor: Extractor) -> None:
    giant = b'a,b\n"' + b"x" * (CSV_FIELD_CHARS + 10) + b'",1\n'
    with pytest.raises(BadRequest, match="a field is longer than 1,048,576 characters"):
        await extractor.extract(giant, "csv")
    assert (await extractor.extract(b"a,b\n", "csv")).text == "a | b\n"


def test_a_quotation_mark_that_is_never_closed_is_refused_by_name_when_it_swallows_the_table() -> None:
    with pytest.raises(BadRequest, match="unclosed quotation mark"):
        text('a,b\n"x,1\n' + "y,2\n" * CSV_FIELD_CHARS)


@pytest.mark.parametrize(
    ("table", "answer"),
    [
        ("," * 1_000_000, ""),
        ('"' * 300_001, '"' * 150_000 + "\n"),
        ("1,2\n" * 50_000, "1 | 2\n" * 50_000),
        ("a\n" * 100_000, "a\n" * 100_000),
    ],
)
@pytest.mark.anyio
async def test_tables_of_a_strange_shape_get_an_answer(table: str, answer: str, extractor: Extractor) -> None:
    found = await extractor.extract(table.encode(), "csv")
    assert found.text.startswith(answer)
