"""Plain text in any charset people still have; what is no text is refused."""

import random

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import Extractor, extract, txt

SAMPLES = {
    "utf-8": "Grüße, żółć, Ελλάδα, 契約",
    "utf-8-sig": "Mit Marke: Größe",
    "utf-16": "Mit Marke: Größe 契約",
    "utf-32": "Mit Marke: Größe",
    "utf-16-le": "Without a mark, Größe and so on",
    "utf-16-be": "Without a mark, Größe and so on",
    "iso2022_jp": "これは契約書です",
    "iso2022_kr": "계약서입니다",
    "cp1252": "Der Vermieter überläßt dem Mieter die möblierten Räume „wie besehen“ für 900 € im Monat.",
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy, smlouva o nájmu bytu se řídí zákoníkem.",
    "cp1251": "Договор аренды жилого помещения заключён между сторонами на один год.",
    "koi8_r": "Договор аренды жилого помещения заключён между сторонами на один год.",
    "cp1253": "Η σύμβαση μίσθωσης υπογράφεται από τα δύο μέρη και ισχύει για ένα έτος.",
    "cp932": "本契約は、甲と乙の間で締結され、一年間有効とする。賃料は毎月末日までに支払う。",
    "gb18030": "本合同由甲乙双方签订，自签字之日起生效，有效期为一年。租金每月支付一次。",
    "big5": "本契約由甲乙雙方簽訂，自簽字之日起生效，有效期為一年。租金每月支付一次。",
    "euc_kr": "본 계약은 갑과 을 사이에 체결되며 일 년간 유효하다. 임대료는 매월 지급한다.",
}


@pytest.mark.parametrize("charset", SAMPLES)
def test_a_text_is_read_in_its_charset(charset: str) -> None:
    assert txt.read(SAMPLES[charset].encode(charset)).text == SAMPLES[charset]


def test_a_few_letters_in_a_long_english_text_decide_its_charset() -> None:
    text = "The tenant pays the rent on the first day of the month.\n" * 5000 + "Signed in Zürich, façade café.\n"
    assert txt.read(text.encode("cp1252")).text == text


def test_damaged_bytes_do_not_make_utf_8_something_else() -> None:
    data = SAMPLES["utf-8"].encode() * 20
    found = txt.read(data[:30] + b"\xff" + data[30:] + b"\xe5\xa5").text
    assert found.count("\ufffd") <= 4
    assert "żółć, Ελλάδα, 契約" in found


def test_line_ends_are_made_one_kind_and_invisible_characters_go() -> None:
    data = "a\r\nb\rc\x0cd\u2028e\x00 f\u00adg\ufeff\x07h" + "." * 500
    assert txt.read(data.encode()).text == "a\nb\nc\nd\ne fgh" + "." * 500


def test_lone_surrogates_do_not_come_through() -> None:
    assert txt.read(b"\xff\xfea\x00\x00\xd8" + b"b\x00" * 50).text.replace("\ufffd", "") == "a" + "b" * 50
    assert txt.read(b"a\xed\xa0\x80b").text.encode()


def test_characters_are_not_normalised() -> None:
    assert txt.read("e\u0301 \ufb01 Å".encode()).text == "e\u0301 \ufb01 Å"


def test_white_space_alone_is_no_error() -> None:
    assert txt.read(b" \n").text == " \n"


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"MZ\x90\x00\x03" + bytes(200), "a program"),
        (b"\x7fELF\x02\x01\x01" + bytes(200), "a program"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a PNG image"),
        (b"%PDF-1.7\n1 0 obj", "a PDF"),
        (b"PK\x03\x04" + bytes(30), "a ZIP archive"),
        (bytes(1000), "not text"),
        (bytes(range(256)) * 4, "not text"),
        (b"\xff\xfe" + b"\x00\xd8" * 500, "not text"),
        (random.Random(1).randbytes(5000), "not text"),
    ],
)
def test_what_is_no_text_is_refused_by_name(data: bytes, content: str) -> None:
    with pytest.raises(BadRequest, match=f"^The file is named .txt but its content is {content}$"):
        extract(data, "txt")


def test_more_text_than_the_limit_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deedbox.search.extract.text.EXTRACTED_CHARS", 2_000)
    assert extract(b"word " * 400, "txt")
    with pytest.raises(BadRequest, match=r"more than 2,000 characters of text. Split it into parts.$"):
        extract(b"word " * 401, "txt")


@pytest.mark.parametrize("piece", [b"\xe9", b"a\xe9 ", b"\x81\xfe", b"\xe9\n", b"\x1b$B", b"\xc3\xa9" * 50 + b"\xff"])
@pytest.mark.anyio
async def test_long_texts_in_no_known_charset_get_an_answer(piece: bytes, extractor: Extractor) -> None:
    data = piece * (1_000_000 // len(piece))
    found = await extractor.extract(data, "txt")
    assert len(found.text) <= len(data)


@pytest.mark.anyio
async def test_every_charset_is_also_known_inside_the_sandbox(extractor: Extractor) -> None:
    for charset, sample in SAMPLES.items():
        assert (await extractor.extract(sample.encode(charset), "txt")).text == sample
