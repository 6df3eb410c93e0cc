"""A sentence encoder out of a package: its files become a model like any other, with the vectors of its weights."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from deedbox.kernel.errors import BadRequest
from deedbox.search.embed import encoder, install, models, sentencepiece
from deedbox.search.embed.inference import LoadedModel
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.embed.nodes import INPUT
from deedbox.search.embed.turns import WindowPart
from deedbox.search.library.upload import Extraction
from tests.search.embed import encoders, tiny
from tests.search.embed.encoders import PIECES, Arrays

ODD = ["", " ", "\x00", "😀" * 300, "\u200d\ufe0f", "s" * 5000, "\ufffd", "؟", "\n\n\t", "契約は毎年更新されます。"]


def ids(*pieces: str) -> list[int]:
    return [PIECES.index(piece) for piece in ("<s>", *pieces, "</s>")]


def tokens(text: str) -> list[int]:
    found: list[int] = tokenizer().encode(text).ids
    return found


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_buffer(sentencepiece.tokenizer(encoders.sentencepiece()))


def unpacked_and_installed(folder: Path, place: Path) -> models.Model:
    encoder.unpack(folder)
    return install.install_folder(folder, "small", place, tiny.unseen)


def installed(tmp_path: Path) -> models.Model:
    return unpacked_and_installed(encoders.write(tmp_path / "packed"), tmp_path / "models")


def engine(tmp_path: Path, window: int | None = None, threads: int = 1) -> LoadedModel:
    model = installed(tmp_path)
    graph, words = ((tmp_path / "models" / "small" / name).read_bytes() for name in (models.GRAPH, models.TOKENIZER))
    return LoadedModel(graph, words, window or model.window, threads)


def same(one: object, other: object) -> bool:
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the tenant pays", ids("▁the", "▁tenant", "▁pays")),
        ("  the\n\n tenants. ", ids("▁the", "▁tenant", "s", ".")),
        ("rent 1", ids("▁rent", "▁1")),
        ("rent ☂☂☂ rent", ids("▁rent", "▁", "<unk>", "▁rent")),
        ("e\u0301", ids("▁", "é")),
        ("<s> </s>", ids("▁", "<", "s", ">", "▁", "<", "/", "s", ">")),
        ("extra", ids("▁", "e", "x", "t", "ra")),
        ("<unk>", ids("▁", "<", "<unk>", "n", "<unk>", ">")),
        ("", ids()),
        (" \n ", ids()),
    ],
)
def test_text_is_read_by_its_pieces_and_cannot_spell_a_special_one(text: str, expected: list[int]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 40])
def test_the_graph_computes_what_the_encoder_computes(tmp_path: Path, length: int) -> None:
    from safetensors.numpy import load_file

    folder = encoders.write(tmp_path / "packed", seed=length)
    encoder.unpack(folder)
    built = encoder.build(
        load_file(folder / "model.safetensors"), encoder.read_form((folder / "config.json").read_bytes())
    )
    given = [number * 5 % len(PIECES) for number in range(length)]
    session = onnxruntime.InferenceSession(built, providers=["CPUExecutionProvider"])
    found = session.run(None, {INPUT: np.array([given], np.int64)})[0][0]
    expected = encoders.vector(encoders.arrays(length), given)
    assert np.allclose(found / np.linalg.norm(found), expected, atol=2e-5)
    # The order of the tokens counts, and so do all parts of the table.
    assert length == 1 or not np.allclose(encoders.vector(encoders.arrays(length), given[::-1]), expected, atol=1e-3)


def test_its_files_become_a_model_that_is_installed_as_others_are(tmp_path: Path) -> None:
    model = installed(tmp_path)
    assert (model.dimensions, model.window, model.precision) == (encoders.DIMENSIONS, encoder.WINDOW, "fp32")
    assert models.current(tmp_path / "models") == model
    (vector,) = engine(tmp_path / "again").vectors(["the tenants pay rent."])
    assert np.allclose(vector, encoders.vector(encoders.arrays(), tokens("the tenants pay rent.")), atol=2e-5)


def test_the_same_files_give_the_same_fingerprint(tmp_path: Path) -> None:
    assert installed(tmp_path / "one") == installed(tmp_path / "two")


def test_a_text_longer_than_the_window_is_the_mean_of_its_windows(tmp_path: Path) -> None:
    small = engine(tmp_path, window=12)
    first, second = "the tenant pays rent " * 2 + "the tenant", "rent pays the rent " * 2 + "pays the"
    assert small.room == 10
    assert [count for count, _ in small.read([WindowPart(first, 0, 9), WindowPart(f"{first} {second}", 0, 9)])] == [
        1,
        2,
    ]
    halves = np.mean(small.vectors([first, second]), axis=0)
    (whole,) = small.vectors([f"{first} {second}"])
    assert np.allclose(whole, halves / np.linalg.norm(halves), atol=1e-6)


def test_no_run_of_the_model_reads_more_than_the_window(tmp_path: Path) -> None:
    model = engine(tmp_path)
    text = "the tenant pays rent " * 5000
    ((count, read),) = model.read([WindowPart(text, 0, 3)])
    assert (count, len(read)) == (-(-20_000 // (encoder.WINDOW - 2)), 3)
    spans = model.spans(Extraction(text, None, []), 10_000, 0)
    assert all(model.length(text[start:end]) <= encoder.WINDOW - 2 for start, end in spans)


def test_odd_texts_have_unit_vectors_the_same_alone_and_among_others(tmp_path: Path) -> None:
    model = engine(tmp_path, threads=2)
    together = model.vectors(ODD)
    assert all(abs(float(np.linalg.norm(vector)) - 1) < 1e-5 for vector in together)
    for text, vector in zip(ODD, together, strict=True):
        assert same(vector, model.vectors([text])[0])


@pytest.mark.anyio
async def test_its_sandbox_gives_the_same_vectors_and_cuts_by_its_tokens(tmp_path: Path) -> None:
    alone, place = engine(tmp_path), tmp_path / "models"
    model = models.current(place)
    assert model is not None
    embedder = LocalEmbedder(place, model, size=20, overlap=5)
    try:
        texts = ["the tenant pays", "rent é. " * 400, *ODD]
        vectors = await embedder.embed(texts, urgent=True)
        assert vectors.shape == (len(texts), encoders.DIMENSIONS)
        assert same(vectors, np.stack(alone.vectors(texts)))
        text = "the tenant pays rent. " * 50
        cut = await embedder.split(Extraction(text, None, []))
        assert all(alone.length(chunk.text) <= 20 for chunk in cut)
        assert (cut[0].char_start, cut[-1].char_end) == (0, len(text) - 1)
    finally:
        await embedder.close()


def changed(change: Callable[[Arrays], object]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        arrays = encoders.arrays()
        change(arrays)
        encoders.save(folder, arrays)

    return make


def cut_off(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return make


def pieces(*names: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "sp.model").write_bytes(encoders.sentencepiece(names))

    return make


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (cut_off("weights.npz"), r"weights\.npz of the encoder"),
        (lambda folder: (folder / "weights.npz").write_bytes(b"no archive"), r"weights\.npz of the encoder"),
        (changed(lambda arrays: arrays.pop("q2")), r"weights\.npz of the encoder"),
        (changed(lambda arrays: arrays.update(d0=np.array([{}], object))), r"weights\.npz of the encoder"),
        (changed(lambda arrays: arrays.update(q1=arrays["q1"][:-1])), r"weights\.npz of the encoder"),
        (changed(lambda arrays: arrays.pop("d0")), "do not fit"),
        (changed(lambda arrays: arrays.update(w1_3=arrays["w1_3"][:-1])), "do not fit"),
        (changed(lambda arrays: arrays.update(d1=arrays["d1"][:-1])), "does not work"),
        (changed(lambda arrays: arrays.update(d1=arrays["d1"] * np.nan)), "no number"),
        (changed(lambda arrays: arrays.update({f"q{n}": arrays[f"q{n}"] / 1.0 for n in (1, 2, 3)})), "8 bits"),
        (cut_off("sp.model"), "SentencePiece model cannot be read"),
        (lambda folder: (folder / "sp.model").write_bytes(b""), "does not begin with <unk>"),
        (lambda folder: (folder / "sp.model").write_bytes(encoders.field(1, 7)), "cannot be read"),
        (pieces("<s>", "</s>", "a"), "does not begin with <unk>"),
        (pieces("<unk>", "<s>", "a"), "has no <s> and </s>"),
    ],
)
def test_files_that_are_no_encoder_are_refused(tmp_path: Path, spoil: Callable[[Path], None], reason: str) -> None:
    folder, place = encoders.write(tmp_path / "packed"), tmp_path / "models"
    spoil(folder)
    with pytest.raises(BadRequest, match=reason):
        unpacked_and_installed(folder, place)
    assert models.list_models(place) == []
