"""The program in this process, on an SQLite catalog of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

import twinlog
from tests.cli.program import Cli
from twinlog.catalog.catalog import Catalog

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": False, "metadata": {}},
        {"name": "day", "type": "date", "nullable": True, "metadata": {}},
        {
            "name": "items",
            "type": {
                "type": "array",
                "elementType": {
                    "type": "struct",
                    "fields": [{"name": "sku", "type": "string", "nullable": True, "metadata": {}}],
                },
                "containsNull": False,
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}


@pytest.fixture(scope="session")
def empty_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "catalog.db"
    twinlog.connect(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def catalog_url(tmp_path: Path, empty_catalog: Path) -> str:
    path = tmp_path / "catalog.db"
    shutil.copy(empty_catalog, path)
    return f"sqlite:///{path}"


@pytest.fixture
def cli(catalog_url: str) -> Cli:
    """Runs a command line on the catalog."""
    return make_cli(catalog_url)


def make_cli(url: str) -> Cli:
    return Cli(CliRunner(env={"TWINLOG_CATALOG": url, "FORCE_COLOR": None, "TTY_COMPATIBLE": None}))


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_bytes(orjson.dumps(SCHEMA))
    return path


@pytest.fixture(scope="session")
def sales_catalog(empty_catalog: Path) -> Path:
    path = empty_catalog.with_name("sales.db")
    shutil.copy(empty_catalog, path)
    cli = make_cli(f"sqlite:///{path}")
    create = ["table", "create", "sales", "--location", "s3://lake/sales", "--schema", "-", "--partition-by", "day"]
    cli.done(*create, stdin=orjson.dumps(SCHEMA))
    for number in (1, 2):
        cli.done("commit", "sales", "--file", "-", stdin=add_line(number))
    return path


@pytest.fixture
def sales(catalog_url: str, sales_catalog: Path) -> str:
    """A table with one file in each of two partitions, in versions 1 and 2."""
    shutil.copy(sales_catalog, catalog_url.removeprefix("sqlite:///"))
    return "sales"


def add_line(number: int) -> str:
    stats = orjson.dumps(
        {"numRecords": number * 10, "minValues": {"id": number}, "maxValues": {"id": number}, "nullCount": {"id": 0}}
    ).decode()
    add = {
        "path": f"part-{number}.parquet",
        "partitionValues": {"day": f"2026-03-0{number}"},
        "size": number * 1000,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": stats,
    }
    return orjson.dumps({"add": add}).decode() + "\n"


@pytest.fixture
def open_catalog(catalog_url: str) -> Callable[[], Catalog]:
    return lambda: twinlog.connect(catalog_url)
