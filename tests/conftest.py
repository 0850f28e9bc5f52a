from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import twinlog
from tests.support.databases import FILE_NAMES, KINDS, Postgres, Templates, fast_folder, running_postgres
from twinlog import Catalog

# How long one example takes says more about the machine's other work than about the code.
settings.register_profile("twinlog", deadline=None)
settings.load_profile("twinlog")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def templates() -> Iterator[Templates]:
    with fast_folder() as folder:
        yield Templates(folder)


@pytest.fixture
def database_folder() -> Iterator[Path]:
    with fast_folder() as folder:
        yield folder


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, templates: Templates, database_folder: Path) -> Iterator[str]:
    """A database of each kind, with our schema and without tables."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.create_database(migrated=True)
        yield url
        server.drop_database(url)
    else:
        yield templates.copy(request.param, database_folder)


@pytest.fixture(params=KINDS)
def empty_database_url(request: pytest.FixtureRequest, database_folder: Path) -> Iterator[str]:
    """A database of each kind with nothing in it."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.create_database(migrated=False)
        yield url
        server.drop_database(url)
    else:
        yield f"{request.param}:///{database_folder / FILE_NAMES[request.param]}"


@pytest.fixture
def catalog(database_url: str) -> Iterator[Catalog]:
    with twinlog.connect(database_url) as opened:
        yield opened


@pytest.fixture
def other_catalog(catalog: Catalog, database_url: str) -> Iterator[Catalog]:
    """A second client of the same database, with caches and connections of its own."""
    with twinlog.connect(database_url) as opened:
        yield opened
