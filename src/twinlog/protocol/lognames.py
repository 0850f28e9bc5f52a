"""Names under `_delta_log/` as typed values, and back.

Parsing is strict: a name is one that every reader understands in the same way, or it is not a log file. Temporary
files, staged commits, hidden files and unpadded versions are therefore `None`, never a guess.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

CheckpointFormat: TypeAlias = Literal["json", "parquet"]

# Readers on the JVM hold versions in a long and part numbers in an int; a larger number fits the digits, not them.
_MAX_VERSION: Final = 2**63 - 1
_MIN_PARTS: Final = 2
_MAX_PARTS: Final = 2**31 - 1

# Spark takes any token without a dot, delta-kernel-rs only 36 characters: a real UUID satisfies both.
_UUID: Final = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_SIDECAR: Final = r"[^./][^/]*\.parquet"


@dataclass(frozen=True, slots=True)
class _OfVersion:
    version: int

    def __post_init__(self) -> None:
        _check_version(self.version)


@dataclass(frozen=True, slots=True)
class CommitFile(_OfVersion):
    """The actions of one version."""

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return f"{self.version:020}.json"


@dataclass(frozen=True, slots=True)
class ClassicCheckpoint(_OfVersion):
    """The state at a version in one Parquet file."""

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return f"{self.version:020}.checkpoint.parquet"


@dataclass(frozen=True, slots=True)
class MultipartCheckpoint:
    """One of the Parquet files that together hold the state at a version."""

    version: int
    part: int
    parts: int

    def __post_init__(self) -> None:
        _check_version(self.version)
        if not _MIN_PARTS <= self.parts <= _MAX_PARTS:
            raise ValueError(f"a multi-part checkpoint cannot have {self.parts} parts")
        if not 1 <= self.part <= self.parts:
            raise ValueError(f"there is no checkpoint part {self.part} of {self.parts}")

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return f"{self.version:020}.checkpoint.{self.part:010}.{self.parts:010}.parquet"


@dataclass(frozen=True, slots=True)
class UuidCheckpoint:
    """The top file of a V2 checkpoint; its file actions may be in sidecars."""

    version: int
    uuid: str
    format: CheckpointFormat

    def __post_init__(self) -> None:
        _check_version(self.version)
        if not re.fullmatch(_UUID, self.uuid):
            raise ValueError(f"{self.uuid!r} is not a UUID")
        if self.format not in ("json", "parquet"):
            raise ValueError(f"a checkpoint is json or parquet, not {self.format!r}")

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return f"{self.version:020}.checkpoint.{self.uuid}.{self.format}"


@dataclass(frozen=True, slots=True)
class SidecarFile:
    """A share of a V2 checkpoint's file actions. `file_name` is the name inside `_sidecars/`."""

    file_name: str

    def __post_init__(self) -> None:
        if not re.fullmatch(_SIDECAR, self.file_name):
            raise ValueError(f"{self.file_name!r} is not a sidecar's file name")

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`, with its folder."""
        return f"_sidecars/{self.file_name}"


@dataclass(frozen=True, slots=True)
class ChecksumFile(_OfVersion):
    """Totals of the state at a version."""

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return f"{self.version:020}.crc"


@dataclass(frozen=True, slots=True)
class CompactedCommits:
    """The reconciled actions of the commits `start` to `end`, both included."""

    start: int
    end: int

    def __post_init__(self) -> None:
        _check_version(self.start)
        _check_version(self.end)
        if self.end <= self.start:
            raise ValueError(f"a compaction cannot go from version {self.start} to {self.end}")

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return f"{self.start:020}.{self.end:020}.compacted.json"


@dataclass(frozen=True, slots=True)
class LastCheckpointHint:
    """The pointer to the newest checkpoint."""

    @property
    def name(self) -> str:
        """The file's name in `_delta_log/`."""
        return "_last_checkpoint"


LogFile: TypeAlias = (
    CommitFile
    | ClassicCheckpoint
    | MultipartCheckpoint
    | UuidCheckpoint
    | SidecarFile
    | ChecksumFile
    | CompactedCommits
    | LastCheckpointHint
)

_VERSION: Final = r"([0-9]{20})"
_PART: Final = r"([0-9]{10})"

_BUILDERS: Final[tuple[tuple[re.Pattern[str], Callable[..., LogFile]], ...]] = (
    (re.compile(rf"{_VERSION}\.json"), lambda version: CommitFile(int(version))),
    (re.compile(rf"{_VERSION}\.crc"), lambda version: ChecksumFile(int(version))),
    (re.compile(rf"{_VERSION}\.checkpoint\.parquet"), lambda version: ClassicCheckpoint(int(version))),
    (
        re.compile(rf"{_VERSION}\.checkpoint\.{_PART}\.{_PART}\.parquet"),
        lambda version, part, parts: MultipartCheckpoint(int(version), int(part), int(parts)),
    ),
    (
        re.compile(rf"{_VERSION}\.checkpoint\.({_UUID})\.(json|parquet)"),
        lambda version, uuid, fmt: UuidCheckpoint(int(version), uuid, cast("CheckpointFormat", fmt)),
    ),
    (re.compile(rf"_sidecars/({_SIDECAR})"), SidecarFile),
    (
        re.compile(rf"{_VERSION}\.{_VERSION}\.compacted\.json"),
        lambda start, end: CompactedCommits(int(start), int(end)),
    ),
    (re.compile("_last_checkpoint"), LastCheckpointHint),
)


def parse_log_name(name: str) -> LogFile | None:
    """Read a name relative to `_delta_log/`; `None` when it is not exactly the name of a log file."""
    for pattern, build in _BUILDERS:
        match = pattern.fullmatch(name)
        if match:
            try:
                return build(*match.groups())
            except ValueError:
                return None
    return None


def _check_version(version: int) -> None:
    if not 0 <= version <= _MAX_VERSION:
        raise ValueError(f"{version} is not a table version")
