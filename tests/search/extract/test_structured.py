"""Tables with tabs, JSON, XML and source code: each record or element a line that can be found on its own."""

import json as writer
from xml.etree import ElementTree

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import Extractor, extract
from deedbox.search.limits import JSON_DEPTH


def text(data: str | bytes, kind: str) -> str:
    return extract(data.encode() if isinstance(data, str) else data, kind).text


def test_a_table_with_tabs_keeps_its_commas() -> None:
    assert text("name\tpaid\nLovelace, Ada\t1,50\n", "tsv") == "name | paid\nname: Lovelace, Ada | paid: 1,50\n"


def test_records_of_json_are_rows_and_lists_lie_on_their_lines() -> None:
    people = [{"name": "Ada", "city": "London", "tags": ["a", "b"], "left": None}, {"name": "Alan", "paid": True}]
    assert text(writer.dumps(people), "json") == "name: Ada | city: London | tags: a, b\nname: Alan | paid: true\n"


def test_what_lies_deeper_in_json_is_named_by_the_way_to_it() -> None:
    lease = {"number": 7, "tenant": {"name": "Ada", "bank": {"iban": "DE1"}}, "rents": [{"month": 1, "paid": 9.5}]}
    found = extract(writer.dumps(lease, indent=2).encode("utf-16"), "json")
    assert found.text == ("number: 7\ntenant | name: Ada\ntenant.bank | iban: DE1\nrents | month: 1 | paid: 9.5\n")
    assert found.headings == [(10, "tenant"), (53, "rents")]


def test_what_is_no_json_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"^The file is named .json but its content is not JSON$"):
        text('{"a": 1,}', "json")


@pytest.mark.parametrize("depth", [JSON_DEPTH + 2, 200_000])
@pytest.mark.anyio
async def test_json_that_lies_too_deep_is_refused_by_name(depth: int, extractor: Extractor) -> None:
    with pytest.raises(BadRequest, match="nested more than 100 deep"):
        await extractor.extract(b'{"a":[' * depth + b"]}" * depth, "json")


def test_json_too_long_to_be_written_anew_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deedbox.search.extract.json.JSON_WRITTEN_BYTES", 5)
    assert text('{"a": "b"}', "json") == '{"a": "b"}'


def test_elements_of_xml_have_their_names_and_passages_their_text() -> None:
    book = ElementTree.Element("book", {"lang": "en"})
    ElementTree.SubElement(book, "title").text = "On leases"
    passage = ElementTree.SubElement(book, "para")
    passage.text = "The rent is "
    ElementTree.SubElement(passage, "em").text = "due"
    passage[0].tail = " at once."
    ElementTree.SubElement(book, "item", {"sku": "5", "name": "Ink"})
    found = extract(ElementTree.tostring(book, encoding="iso-8859-1"), "xml")
    lines = ["book | lang: en", "title: On leases", "para: The rent is due at once.", "item | sku: 5 | name: Ink"]
    assert found.text.splitlines() == lines
    assert found.headings == [(16, "On leases")]


def test_xml_too_long_to_be_written_with_its_names_is_still_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deedbox.search.extract.xml.XML_WRITTEN_BYTES", 5)
    assert text('<a b="c"> d <e>f</e>\n</a>', "xml") == "d\nf\n"


def test_names_of_xml_are_written_without_their_namespaces_and_a_plain_document_type_is_no_harm() -> None:
    assert text('<!DOCTYPE a><a xmlns="urn:x" xmlns:b="urn:y"><b:c b:d="1">e</b:c></a>', "xml") == "c: e | d: 1\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('<!DOCTYPE a [<!ENTITY b "ha">]><a>&b;</a>', "declares entities"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "declares entities"),
        ("<a><b></a>", "not well-formed XML"),
        ("hello", "not well-formed XML"),
        ("<a>" * 100_000, "not well-formed XML"),
    ],
)
@pytest.mark.anyio
async def test_xml_that_means_harm_or_is_none_is_refused_by_name(data: str, reason: str, extractor: Extractor) -> None:
    with pytest.raises(BadRequest, match=reason):
        await extractor.extract(data.encode(), "xml")


def test_source_code_is_kept_to_the_letter() -> None:
    source = 'def seal(file):\n\treturn "größer"  # <b> & | \n'
    assert text(source, "code") == source
    with pytest.raises(BadRequest, match=r"^The file is named as source code but its content is not text$"):
        text(bytes(range(256)) * 9, "code")
