"""URLs that cannot work: a typed error that says what to do and never shows the password."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinlog
from tests.support.databases import Postgres
from twinlog.errors import CatalogError, CatalogUnavailable, ConfigurationError, Retry, TwinlogError

PASSWORD = "s3cr3t-p4ss"


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def connect_error(url: str) -> TwinlogError:
    with pytest.raises(TwinlogError) as caught:
        twinlog.connect(url).close()
    error = caught.value
    for part in chain_of(error):
        assert PASSWORD not in str(part)
        assert PASSWORD not in repr(part)
    assert error.hint
    assert PASSWORD not in error.hint
    assert PASSWORD not in error.message
    return error


@pytest.mark.parametrize(
    "url",
    [
        "",
        "lake.db",
        "://",
        f"mysql://me:{PASSWORD}@host/db",
        f"postgres://me:{PASSWORD}@host/db",
        f"PostgreSQL://me:{PASSWORD}@host/db",
        f"postgresql//me:{PASSWORD}@host/db",
        f"postgresql://me:{PASSWORD}@host:port/db",
        f"me:{PASSWORD}@host",
        "sqlite+nosuch:///lake.db",
        f"sqlite://me:{PASSWORD}@host/lake.db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite://lake.db",
        "duckdb://",
        "duckdb:///:memory:",
        "duckdb+nosuch:///lake.duckdb",
        "s3://bucket/lake.db",
    ],
)
def test_url_when_its_scheme_or_form_is_bad_then_a_configuration_error(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    error = connect_error(url)
    assert type(error) is ConfigurationError
    assert error.retry is Retry.NEVER
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_folder_when_missing_then_a_configuration_error_that_names_it(kind: str, tmp_path: Path):
    error = connect_error(f"{kind}:///{tmp_path}/missing/lake.db")
    assert type(error) is ConfigurationError
    assert "missing" in error.message


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_file_when_it_is_a_folder_then_a_catalog_error(kind: str, tmp_path: Path):
    assert isinstance(connect_error(f"{kind}:///{tmp_path}"), CatalogError | ConfigurationError)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_file_when_it_is_no_database_then_a_catalog_error_and_the_file_is_as_it_was(kind: str, tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but something that somebody wants to keep\n" * 100)
    before = path.read_bytes()
    assert isinstance(connect_error(f"{kind}:///{path}"), CatalogError)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://me:{password}@127.0.0.1:{port}/db",
        "postgresql+psycopg://me:{password}@127.0.0.1:{port}/db",
        "postgresql://me@127.0.0.1:{port}/db?password={password}",
        "postgresql://127.0.0.1:{port}/db?user=me&password={password}",
        "postgresql://me:{password}@host.invalid/db",
        "postgresql://me:{password}@/db?host=/nowhere",
        "postgresql://me:{password}@127.0.0.1:{port}/db?sslmode=nonsense",
        "postgresql://me:{password}@127.0.0.1:{port}/db?nosuchoption=1",
    ],
)
def test_host_when_it_cannot_be_reached_then_unavailable_and_the_password_is_nowhere(form: str, closed_port: int):
    error = connect_error(form.format(password=PASSWORD, port=closed_port))
    assert isinstance(error, CatalogError | ConfigurationError)


def test_host_when_it_cannot_be_reached_then_a_later_attempt_may_help(closed_port: int):
    error = connect_error(f"postgresql://me:{PASSWORD}@127.0.0.1:{closed_port}/db")
    assert isinstance(error, CatalogUnavailable)
    assert error.retry is Retry.LATER
    assert "127.0.0.1" in error.message


def test_password_when_it_has_special_characters_then_is_hidden_in_every_spelling(closed_port: int):
    error = connect_error(f"postgresql://me:{PASSWORD}%40%2F@127.0.0.1:{closed_port}/db")
    assert "%40" not in str(error)


def test_database_when_it_does_not_exist_then_unavailable(postgres: Postgres):
    url = postgres.create_database(migrated=False)
    postgres.drop_database(url)
    assert isinstance(connect_error(url), CatalogUnavailable)


def test_url_of_a_catalog_when_shown_then_is_without_the_password(postgres: Postgres):
    url = postgres.create_database(migrated=True)
    for form in (url.replace("postgres:@", f"postgres:{PASSWORD}@"), f"{url}&password={PASSWORD}"):
        with twinlog.connect(form) as catalog:
            assert PASSWORD not in catalog.url
            assert PASSWORD not in repr(catalog)
    postgres.drop_database(url)


def test_file_when_it_does_not_exist_yet_then_is_created(empty_database_url: str):
    with twinlog.connect(empty_database_url) as catalog:
        assert catalog.list_tables() == []


def test_catalog_when_closed_then_no_connection_is_left(postgres: Postgres):
    url = postgres.create_database(migrated=True)
    with twinlog.connect(url) as catalog:
        table = catalog.create_table("sales", location="s3://lake/sales", schema='{"type":"struct","fields":[]}')
        table.snapshot().files()
        assert not postgres.has_no_connections(url, within_s=0)
    assert postgres.has_no_connections(url)
    postgres.drop_database(url)
