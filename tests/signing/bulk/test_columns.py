"""A CSV file becomes rows whatever its encoding and separator, and every fault is named with its line and column."""

import io
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing.bulk import columns
from deedbox.signing.bulk.columns import Known
from deedbox.signing.bulk.model import ReadRow, people
from deedbox.web.frame import mistakes

KNOWN = Known(["Tenant"], {"Flat", "Rent"})
AS_THEY_ARE: Mapping[str, str | None] = MappingProxyType({})
HEAD = "key,Tenant.name,Tenant.email,value:Flat\n"


def rows(data: bytes | str, known: Known = KNOWN, mapping: Mapping[str, str | None] = AS_THEY_ARE) -> list[ReadRow]:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    return list(columns.rows(file, mapping, known, mistakes.named))


def faults(data: bytes | str) -> list[tuple[int | None, str | None, str]]:
    return [(flaw.line, flaw.column, flaw.reason) for row in rows(data) for flaw in row.flaws]


def refusal(data: bytes | str, known: Known = KNOWN, mapping: Mapping[str, str | None] = AS_THEY_ARE) -> str:
    with pytest.raises(BadRequest) as caught:
        rows(data, known, mapping)
    return caught.value.message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_encoding_and_separator_are_found_out(encoding: str, separator: str) -> None:
    text = HEAD.replace(",", separator) + f'k1{separator}Jörg{separator}j@example.com{separator}"4{separator} left"\r\n'
    [read] = rows(text.encode(encoding))
    assert read.row is not None, read.flaws
    [person] = people(read.row, "Tenant")
    assert (person.name, person.email) == ("Jörg", "j@example.com")
    assert read.row.values == {"Flat": f"4{separator} left"}
    assert (read.row.key, read.index, read.line) == ("k1", 0, 2)


def test_a_spreadsheet_may_name_its_separator_and_pad_its_rows() -> None:
    [read] = rows("sep=;\r\nTenant.name;Tenant.email;;\r\n\r\nAnn;ann@example.com;;\r\n;;;\r\n")
    assert read.row is not None
    assert read.line == 4


def test_columns_hold_everything_that_a_row_can_say() -> None:
    known = Known(["Tenant", "Agent"], {"Rent: net"})
    heads = (
        "key", "external_id", "language", "Tenant.name", "Tenant.email", "Tenant.language", "Tenant[2].name",
        "Tenant[2].email", "Agent.name", "Agent.email", "Agent.time_zone", "value:Rent: net", "metadata:flat",
    )  # fmt: skip
    cells = ("k", "x-1", "de", "Ann", "ann@a.de", "fr", "Bo", "bo@a.de", "Cy", "cy@a.de", "Europe/Berlin", "=1+1", "4")
    [one, two] = rows("\n".join([",".join(heads), ",".join(cells), "k2,,,Ann,ann@a.de,,,,Cy,cy@a.de,,,"]), known)
    assert one.row is not None
    assert two.row is not None
    assert [person.name for person in people(one.row, "Tenant")] == ["Ann", "Bo"]
    assert people(one.row, "Tenant")[0].language == "fr"
    assert people(one.row, "Agent")[0].time_zone == "Europe/Berlin"
    assert (one.row.external_id, one.row.language, one.row.metadata) == ("x-1", "de", {"flat": "4"})
    assert one.row.values == {"Rent: net": "=1+1"}
    assert [person.name for person in people(two.row, "Tenant")] == ["Ann"]


def test_other_headings_are_mapped_or_left_out() -> None:
    text = "Who,E-Mail,Remarks\nAnn,ann@example.com,nice\n"
    mapping: dict[str, str | None] = {"Who": "Tenant.name", "E-Mail": "Tenant.email", "Remarks": None}
    [read] = rows(text, KNOWN, mapping)
    assert read.row is not None
    assert "line 1, Remarks: no such column" in refusal(text, KNOWN, {**mapping, "Remarks": "Remarks"})
    assert refusal(text, KNOWN, {**mapping, "Phone": "Tenant.phone"}) == "columns: the file has no heading 'Phone'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "The CSV file is empty"),
        ("\n\n", "The CSV file is empty"),
        ("Tenant.name\nAnn\n", "line 1: columns are missing: Tenant.email."),
        ("Tenant.name,Tenant.email,Tenant.name\n", "line 1, Tenant.name: two columns mean the same"),
        ("Tenant.name,Tenant.email,value:Floor\n", "line 1, value:Floor: no field of the template has the label"),
        ("Tenant.name,Tenant.email,Owner.name\n", "line 1, Owner.name: the template has no role 'Owner'; it has Ten"),
        ("Tenant.name,Tenant.email,Tenant.shoe\n", "line 1, Tenant.shoe: no such column."),
        ("Tenant.name,,Tenant.email\n", "line 1, an empty heading: no such column."),
        ("Tenant.name,Tenant.email,metadata:\n", "line 1, metadata:: must not be empty"),
        ('Tenant.name,"Tenant.email\n', "line 1: a quotation mark is opened and never closed"),
        ("x" * (limits.BULK_CELL_CHARS + 1), "line 1: a cell is longer than 4,000 characters"),
        ("," * limits.BULK_COLUMNS, "line 1: more than 200 columns"),
    ],
)
def test_headings_that_do_not_fit_are_named(text: str, told: str) -> None:
    assert told in refusal(text)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (HEAD.encode() + b"k,A\x81,a@b.de,\n", "line 2: the file is text neither in UTF-8 nor in UTF-16"),
        (b"\xef\xbb\xbf" + HEAD.encode() + b"k,A\xe4,a@b.de,\n", "line 2: the file is not text in UTF-8"),
        (b"\xff\xfe" + HEAD.encode("utf-16-le") + b"k", "the file is not text in UTF-16"),
        (b"PK\x03\x04" + bytes(100), "The file is a spreadsheet or an archive, not CSV"),
    ],
)
def test_what_is_no_text_is_refused_with_the_line(data: bytes, told: str) -> None:
    assert told in refusal(data)


def test_every_bad_cell_is_named_and_good_rows_are_read() -> None:
    text = HEAD + "1,Ann,ann@example.com,4\n2,,not an address,\n3,Bo,,\n4,Cy,cy@example.com,5\n"
    read = rows(text)
    assert [row.row is not None for row in read] == [True, False, False, True]
    assert faults(text) == [
        (3, "Tenant.email", "not an e-mail address"),
        (3, "Tenant.name", "missing"),
        (4, "Tenant.email", "missing"),
    ]


@pytest.mark.parametrize("formula", ['=HYPERLINK("http://x"),', "+1", "-1", "@SUM(1)"])
def test_a_formula_is_no_name_and_no_address_but_may_be_a_value(formula: str) -> None:
    quoted = '"' + formula.replace('"', '""') + '"'
    assert faults(f"{HEAD}1,{quoted},a@example.com,x\n") == [
        (2, "Tenant.name", "it begins like a formula (=, +, - or @), which is neither a name nor an address")
    ]
    [read] = rows(f"{HEAD}1,Ann,a@example.com,{quoted}\n")
    assert read.row is not None
    assert read.row.values == {"Flat": formula}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,Ann,ann@example.com", "it has 3 cells, but there are 4 headings"),
        ("1,Ann,ann@example.com,4,5", "it has 5 cells, but there are 4 headings"),
        ("1,Ann\0,ann@example.com,4", "it holds a NUL or another control character, which is no text"),
        ("1,Ann,ann@example.com," + "x" * limits.MB, "it is longer than 262,144 characters"),
        ('1,Ann,ann@example.com,"' + "x" * 5000 + '"', "a cell is longer than 4,000 characters"),
        ('1,Ann,ann@example.com,"open', "a quotation mark is opened and never closed"),
        ('1,"Ann"x,ann@example.com,4', "it cannot be read as CSV"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(row: str, reason: str) -> None:
    [(line, column, told)] = faults(f"{HEAD}0,Bo,bo@example.com,\n{row}\n")
    assert (line, column) == (3, None)
    assert reason in told


def test_a_cell_of_several_lines_counts_them() -> None:
    text = f'{HEAD}1,Ann,ann@example.com,"4\nleft"\n2,Bo,,\n'
    assert faults(text) == [(4, "Tenant.email", "missing")]
