"""One extractor per test, with its sandbox."""

from collections.abc import AsyncIterator

import pytest

from deedbox.search.extract import Extractor


@pytest.fixture
async def extractor() -> AsyncIterator[Extractor]:
    made = Extractor(processes=1)
    yield made
    await made.close()
