"""The model in use is found when it comes, followed when it changes, and the one before stays as long as it answers."""

import pytest

from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.search.embed import recipe_name, vectors_of
from deedbox.search.indexing.embedders import Embedders
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio


class Shop:
    """Where models are chosen; every look opens one anew, as the real one does."""

    def __init__(self, *installed: str) -> None:
        self.installed = installed
        self.chosen: str | None = None
        self.opened: list[HashingEmbedder] = []
        self.embedders = Embedders(self._chosen, self._former)

    def _chosen(self) -> HashingEmbedder | None:
        return self._open(self.chosen) if self.chosen else None

    def _former(self, recipe: str) -> HashingEmbedder | None:
        return next((self._open(name) for name in self.installed if HashingEmbedder(name).recipe == recipe), None)

    def _open(self, name: str) -> HashingEmbedder:
        self.opened.append(HashingEmbedder(name))
        return self.opened[-1]

    def open_now(self) -> list[str]:
        return sorted(one.name for one in self.opened if not one.closed)


async def test_a_model_installed_later_is_found() -> None:
    shop = Shop()
    assert shop.embedders.current is None
    with pytest.raises(Unavailable) as missing:
        shop.embedders.need()
    assert missing.value.code is ErrorCode.MODEL_MISSING
    shop.chosen = "one"
    assert shop.embedders.need().name == "one"


async def test_a_look_that_finds_the_same_model_changes_nothing() -> None:
    shop = Shop()
    shop.chosen = "one"
    current = shop.embedders.current
    assert not await shop.embedders.refresh()
    assert shop.embedders.current is current
    assert shop.open_now() == ["one"]


async def test_another_choice_is_followed_and_the_one_before_is_kept() -> None:
    shop = Shop()
    shop.chosen = "one"
    one = shop.embedders.need()
    shop.chosen = "two"
    assert await shop.embedders.refresh()
    assert shop.embedders.need().name == "two"
    assert shop.embedders.of_recipe(one.recipe) is one
    await shop.embedders.retire(one.recipe)
    assert shop.open_now() == ["two"]


async def test_a_choice_taken_back_leaves_one_model_of_each_open() -> None:
    shop = Shop()
    for name in ("one", "two", "one"):
        shop.chosen = name
        await shop.embedders.refresh()
    assert shop.embedders.need().name == "one"
    assert shop.open_now() == ["one", "two"]
    await shop.embedders.close()
    assert shop.open_now() == []


async def test_a_choice_of_nothing_leaves_the_model_in_use() -> None:
    shop = Shop()
    shop.chosen = "one"
    shop.embedders.need()
    shop.chosen = None
    assert not await shop.embedders.refresh()
    assert shop.embedders.need().name == "one"


async def test_a_former_model_is_opened_if_it_is_installed() -> None:
    shop = Shop("old")
    shop.chosen = "one"
    old = shop.embedders.of_recipe(HashingEmbedder("old").recipe)
    assert old is not None
    assert old.name == "old"
    assert shop.embedders.of_recipe(old.recipe) is old
    assert shop.embedders.of_recipe("lost") is None


async def test_the_present_model_does_for_chunks_of_other_sizes() -> None:
    shop = Shop()
    shop.chosen = "one"
    shop.embedders.need().recipe = recipe_name("model", "f" * 64, 200, 40)  # type: ignore[misc]
    assert shop.embedders.of_recipe(recipe_name("model", "f" * 64, 100, 20)) is shop.embedders.current
    assert shop.embedders.of_recipe(recipe_name("model", "e" * 64, 200, 40)) is None
    assert vectors_of("plain") == "plain"
