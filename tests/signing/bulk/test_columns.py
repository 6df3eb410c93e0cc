"""A CSV file becomes rows whatever its encoding and separator, and every fault is named with its line and column."""

import io
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from deedbox.kernel import limits, validation_errors
from deedbox.kernel.errors import BadRequest
from deedbox.signing import limits as signing_limits
from deedbox.signing.bulk import columns
from deedbox.signing.bulk.columns import KnownColumns
from deedbox.signing.bulk.model import NewRow, ReadRow, people
from deedbox.signing.new_document import NewSigner

KNOWN = KnownColumns(["Tenant"], {"Flat", "Rent"})
AS_THEY_ARE: Mapping[str, str | None] = MappingProxyType({})
HEAD = "key,Tenant.name,Tenant.email,value:Flat\n"


def rows(
    data: bytes | str, known: KnownColumns = KNOWN, mapping: Mapping[str, str | None] = AS_THEY_ARE
) -> list[ReadRow]:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    return list(columns.rows(file, mapping, known, validation_errors.describe))


def faults(data: bytes | str) -> list[tuple[int | None, str | None, str]]:
    return [(flaw.line, flaw.column, flaw.reason) for row in rows(data) for flaw in row.flaws]


def refusal(data: bytes | str, known: KnownColumns = KNOWN, mapping: Mapping[str, str | None] = AS_THEY_ARE) -> str:
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
    known = KnownColumns(["Tenant", "Agent"], {"Rent: net"})
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


def test_reading_goes_on_behind_a_line_that_cannot_be_read() -> None:
    long = "x" * signing_limits.BULK_LINE_CHARS
    lines = ['1,"Ann"x,a@b.de,', f"2,Bo,b@b.de,{long}", "3,C\0,c@b.de,", "4,Di,d@b.de,4"]
    lines += ['5,"E', "f\0,", "6,Gi,g@b.de,"]
    read = rows(HEAD + "\n".join(lines))
    assert [one.row.key if one.row else one.line for one in read] == [2, 3, 4, "4", 6, "6"]
    assert "lines 6 to 7 were not read" in read[4].flaws[0].reason


def test_a_file_of_empty_lines_has_an_end() -> None:
    assert refusal(HEAD + "\n" * signing_limits.BULK_LINES).endswith("the CSV file has more than 100,000 lines")


def test_a_line_of_the_table_may_not_go_over_the_whole_file() -> None:
    text = HEAD + ("a," * 1000 + '"\n",') * 1000
    assert "it is longer than 262,144 characters" in faults(text)[0][2]


def test_only_a_name_or_an_address_may_not_be_a_formula() -> None:
    [read] = rows("Tenant.name,Tenant.email,Tenant.access_code\nAnn,ann@example.com,-secret-\n")
    assert read.row is not None, read.flaws
    assert people(read.row, "Tenant")[0].access_code == "-secret-"


def test_the_hash_of_a_row_is_that_of_what_it_says() -> None:
    """Rows are known by it from one release to the next."""
    person = NewSigner("Ann", "ann@example.com", auth="access_code", access_code="tulip-77")
    row = NewRow(key="k", roles={"Tenant": person}, values={"Flat": "4"}, language="de")
    assert row.digest() == "93d47882c15610f0cc76a708b89aa7886d4ff4b3931bdb1d345e2b0493a2a0bc"
    assert row.digest() == NewRow(roles={"Tenant": [person]}, values={"Flat": "4"}, language="de").digest()
    assert row.digest() != NewRow(roles={"Tenant": [person]}, values={"Flat": "5"}, language="de").digest()
