"""Paths of data files: the URI text the log holds, the file path it stands for, and Hive partition directories.

Two layers of escaping are at work. A partition value becomes a directory name (`10:00` -> `ts=10%3A00`), and the
whole file path becomes a URI (`ts=10%3A00/f` -> `ts=10%253A00/f`). Only the URI text is compared during replay,
so a path is encoded once and copied from then on.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from twinlog.errors import InvalidAction

HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"

# What `java.net.URI` refuses raw inside a path: besides ASCII also the C1 controls and Unicode's own spaces.
# The text must mean the same to Python and to RE2, hence escapes below U+0100 and plain characters above.
_NEVER_RAW: Final = (
    r'\x00-\x20"<>\[\\\]^`{|}\x7f-\xa0' + "\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # the other spaces
)

_RULES: Final[tuple[tuple[str, str], ...]] = (
    ("is empty", r"^$"),
    ("has a character that must be percent-encoded", rf"[{_NEVER_RAW}]"),
    ("has a query or a fragment; encode '?' as %3F and '#' as %23", r"[?#]"),
    ("has a '%' that is not followed by two hexadecimal digits", r"%(?:[0-9A-Fa-f]?(?:[^0-9A-Fa-f]|$))"),
    ("has a '..' segment", r"(?:^|/)(?:\.|%2[Ee]){2}(?:/|$)"),
    ("has a scheme but no path", r"^[A-Za-z][A-Za-z0-9+.-]*:(?:[^/]|$|//[^/]*$)"),
    (
        "has a ':' in its first segment; encode it as %3A",
        r"^(?:[^A-Za-z/:][^/:]*|[A-Za-z][^/:]*[^A-Za-z0-9+./:-][^/:]*)?:",
    ),
    ("names a host without a scheme", r"^//"),
    ("names a directory", r"/$"),
)

INVALID_PATH_PATTERN: Final = "|".join(pattern for _, pattern in _RULES)
"""Matches (anywhere, RE2 syntax) exactly the paths that `check_path` refuses."""

_INVALID_PATH: Final = re.compile(INVALID_PATH_PATTERN)
# What nearly all paths look like. None of them is invalid, and this is ten times as fast.
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_=-]+(?:[./][A-Za-z0-9_=-]+)*")
_TO_ENCODE: Final = re.compile(rf"[{_NEVER_RAW}?#%]")
_TO_HIVE_ESCAPE: Final = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")


def check_path(path: str) -> None:
    """Refuse a path that readers could not turn into a file.

    Legal are a URI relative to the table root, an absolute path in the table's file system (`/a/b`, which Delta-Spark
    qualifies) and an absolute URI. Non-ASCII characters may stand raw.

    Raises:
        InvalidAction: The path is not such a URI.
    """
    if _PLAIN_PATH.fullmatch(path) or not _INVALID_PATH.search(path):
        return
    problem = next(problem for problem, pattern in _RULES if re.search(pattern, path))
    raise InvalidAction(f"path {path!r} {problem}", hint="write the path as a URI, relative to the table root")


def encode_path(relative_path: str) -> str:
    """Turn a file path relative to the table root into the URI text for the log, as `java.net.URI` does it."""
    encoded = _TO_ENCODE.sub(lambda match: quote(match[0], safe=""), relative_path)
    first_segment, slash, rest = encoded.partition("/")
    # A raw ':' there would be taken for the end of a scheme.
    return first_segment.replace(":", "%3A") + slash + rest


def decode_path(path: str) -> str:
    """Turn a path of the log into the file path (or URI) it stands for.

    Raises:
        InvalidAction: The path is not valid, or its percent-encoded bytes are not UTF-8.
    """
    check_path(path)
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidAction(f"path {path!r} does not decode to UTF-8") from error


def hive_escape(value: str) -> str:
    """Escape a column name or a partition value for use in a directory name."""
    return _TO_HIVE_ESCAPE.sub(lambda match: f"%{ord(match[0]):02X}", value)


def partition_directory(partition_values: Mapping[str, str | None]) -> str:
    """The Hive-style directory of a partition, not yet URI-encoded; empty for an unpartitioned table."""
    return "/".join(
        f"{hive_escape(column)}={hive_escape(value) if value else HIVE_NULL}"
        for column, value in partition_values.items()
    )
