"""What the tests of signing share."""

import pytest

from deedbox.kernel.db import Database
from tests.conftest import HandClock
from tests.signing.desk import Desk


@pytest.fixture
async def desk(db: Database, clock: HandClock) -> Desk:
    made = Desk(db, clock)
    await made.settle()
    return made
