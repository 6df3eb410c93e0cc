"""The settings choose the model: an endpoint, the installed one, or none."""

from pathlib import Path

import pytest

from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings, load
from deedbox.search.embed import install, models, recipe_name
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.embed.remote import RemoteEmbedder
from deedbox.search.indexing.embedders import open_chosen, open_former
from tests.search.embed import tiny

pytestmark = pytest.mark.anyio
ENDPOINT = {"DEEDBOX_EMBEDDING_URL": "https://models.example.com/v1", "DEEDBOX_EMBEDDING_MODEL": "big"}
CHAT = {"DEEDBOX_CHAT_URL": "https://models.example.com/v1", "DEEDBOX_CHAT_MODEL": "talks"}


async def test_without_a_model_there_is_none(tmp_path: Path) -> None:
    egress = Egress()
    assert open_chosen(Settings(data_dir=tmp_path), lambda: egress) is None
    await egress.close()


async def test_the_installed_model_in_use_is_taken(tmp_path: Path) -> None:
    install.install_folder(tiny.write(tmp_path / "tiny"), "tiny", tmp_path / "models", tiny.unseen)
    egress = Egress()
    embedder = open_chosen(Settings(data_dir=tmp_path, chunk_size=30, chunk_overlap=3), lambda: egress)
    assert isinstance(embedder, LocalEmbedder)
    assert (embedder.name, embedder.dimensions) == ("tiny", tiny.HIDDEN)
    assert embedder.recipe.endswith("/30/3")
    await embedder.close()
    await egress.close()


async def test_an_endpoint_wins_over_an_installed_model(tmp_path: Path) -> None:
    egress = Egress()
    settings = load({**ENDPOINT, "DEEDBOX_EMBEDDING_KEY": "hidden", "DEEDBOX_DATA_DIR": str(tmp_path)})
    embedder = open_chosen(settings, lambda: egress)
    assert isinstance(embedder, RemoteEmbedder)
    assert embedder.name == "big"
    assert settings.embedding_key == Secret("hidden")
    assert "hidden" not in repr(settings)
    await embedder.close()
    await egress.close()


async def test_a_former_model_is_found_by_what_it_made(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 2)):
        install.install_folder(tiny.write(tmp_path / name, seed=seed), name, tmp_path / "models", tiny.unseen)
    egress = Egress()
    settings = Settings(data_dir=tmp_path)
    models.use(settings.models, "two")
    two = open_chosen(settings, lambda: egress)
    models.use(settings.models, "one")
    assert two is not None
    found = open_former(settings, lambda: egress, two.recipe)
    assert found is not None
    assert found.recipe == two.recipe
    other_size = open_former(Settings(data_dir=tmp_path, chunk_size=30, chunk_overlap=3), lambda: egress, two.recipe)
    assert other_size is not None
    assert other_size.name == "two"
    assert open_former(settings, lambda: egress, recipe_name("two", "0" * 64, 200, 40)) is None
    await egress.close()


@pytest.mark.parametrize("name", [*ENDPOINT, *CHAT])
def test_endpoint_and_model_belong_together(name: str) -> None:
    with pytest.raises(SetupError, match="belong together"):
        load({name: {**ENDPOINT, **CHAT}[name]})


@pytest.mark.parametrize(
    "url", ["models.example.com", "ftp://a.example/v1", "https://u:p@a.example", "https://", "https://a b"]
)
@pytest.mark.parametrize("name", ["DEEDBOX_EMBEDDING_URL", "DEEDBOX_CHAT_URL", "DEEDBOX_MODEL_HUB"])
def test_what_is_no_address_is_refused(name: str, url: str) -> None:
    with pytest.raises(SetupError, match=f"{name}.*not an address") as refused:
        load({**ENDPOINT, **CHAT, name: url})
    assert ":p@" not in str(refused.value)
