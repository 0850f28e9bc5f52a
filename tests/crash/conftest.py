from collections.abc import Iterator

import pytest

from tests.support.processes import bounded


@pytest.fixture(autouse=True)
def _time_limit() -> Iterator[None]:
    with bounded():
        yield
