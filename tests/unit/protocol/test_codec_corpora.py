"""Every commit file of the real tables in `../shared/corpora` survives the codec."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.corpora import CORPORA, needs_corpora
from twinlog.protocol.actions import UnknownAction
from twinlog.protocol.codec import decode_commit, encode_commit

pytestmark = needs_corpora


def commit_files() -> list[Path]:
    return sorted(CORPORA.glob("*/*/_delta_log/*.json"))


def engines_by_table() -> dict[Path, set[str]]:
    manifest = json.loads((CORPORA / "manifest.json").read_text("utf-8"))
    return {CORPORA / entry["source"] / entry["table"]: set(entry["engines"]) for entry in manifest}


def is_by_spark(file: Path, engines: dict[Path, set[str]]) -> bool:
    """Whether Delta-Spark wrote a commit.

    Releases before 1.0 and its golden-table tests did not sign their commits, its test mode signs `<unknown>`; no
    other engine of the manifest leaves a table without its name.
    """
    signed = {info["engineInfo"] for info in bodies(file.read_bytes(), "commitInfo") if "engineInfo" in info}
    written_by = signed or engines[file.parents[1]]
    return all(engine.startswith("Apache-Spark/") or engine in {"<unknown>", "(none)"} for engine in written_by)


def bodies(data: bytes, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in parsed(data) if kind in action]


def parsed(data: bytes) -> list[dict[str, Any]]:
    """The lines by another JSON parser, without the nulls that writers put where others leave a field out."""
    actions = [json.loads(text) for text in data.decode("utf-8").split("\n") if text.strip()]
    return [{kind: without_nulls(body) for kind, body in action.items() if body is not None} for action in actions]


def without_nulls(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if value is not None}


@pytest.mark.parametrize(
    "file", commit_files(), ids=lambda file: f"{file.parents[1].name}/{file.stem.lstrip('0') or 0}"
)
def test_commit_file_when_read_and_written_then_equal(file: Path):
    data = file.read_bytes()
    actions = decode_commit(data)
    assert not [action for action in actions if isinstance(action, UnknownAction)]
    assert parsed(encode_commit(actions)) == parsed(data)


@pytest.mark.filterwarnings("default::UserWarning")
def test_commit_files_of_delta_spark_when_read_and_written_then_byte_for_byte_the_same():
    engines = engines_by_table()
    files = commit_files()
    equal = [
        file for file in files if parsed(encode_commit(decode_commit(file.read_bytes()))) == parsed(file.read_bytes())
    ]
    by_spark = [file for file in files if is_by_spark(file, engines)]
    same_bytes = [file for file in by_spark if encode_commit(decode_commit(file.read_bytes())) == file.read_bytes()]
    # A warning, because that is what every way of running the tests shows.
    warnings.warn(
        f"corpora: {len(equal)} of {len(files)} commit files are equal after a round trip; "
        f"of the {len(by_spark)} by Delta-Spark {len(same_bytes)} byte for byte",
        stacklevel=1,
    )
    assert len(equal) == len(files) > 0
    assert [str(file) for file in by_spark if file not in same_bytes] == []
    assert len(same_bytes) == len(by_spark) > 0


def test_commit_files_when_of_other_engines_then_not_counted_as_delta_spark():
    engines = engines_by_table()
    others = {file.parents[1] for file in commit_files() if not is_by_spark(file, engines)}
    named = {engine.partition("/")[0] for table in others for engine in engines[table]}
    assert others
    assert not any("Spark" in name or name in {"<unknown>", "(none)"} for name in named)
