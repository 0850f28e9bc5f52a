"""Deletion-vector descriptors: their structural rules, where their files are, and the Z85 text they use."""

import base64
import re
from typing import Final
from uuid import UUID

from twinlog.errors import InvalidAction
from twinlog.protocol.actions import DeletionVector
from twinlog.protocol.paths import check_path

_Z85: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_RFC1924: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_Z85: Final = bytes.maketrans(_RFC1924, _Z85)
_FROM_Z85: Final = bytes.maketrans(_Z85, _RFC1924)
_Z85_TEXT: Final = re.compile(rf"(?:[{re.escape(_Z85.decode())}]{{5}})*")

_ENCODED_UUID_LENGTH: Final = 20
_MAX_INT: Final = 2**31 - 1
_MAX_LONG: Final = 2**63 - 1
_ABSOLUTE_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def z85_encode(data: bytes) -> str:
    """Encode bytes as Z85, zero-padded to a multiple of four as Delta does."""
    return base64.b85encode(data, pad=True).translate(_TO_Z85).decode("ascii")


def z85_decode(text: str) -> bytes:
    """Decode Z85; padding that the encoder added is still there.

    Raises:
        ValueError: The text is not Z85.
    """
    if not _Z85_TEXT.fullmatch(text):
        raise ValueError(f"{text!r} is not Z85")
    return base64.b85decode(text.encode("ascii").translate(_FROM_Z85))


def dv_file_path(dv: DeletionVector, table_root: str) -> str:
    """The file that holds the deletion vector.

    Args:
        dv: A deletion vector that is stored in a file.
        table_root: The table's location, with or without a final slash.

    Returns:
        For storage type `u` a path below `table_root`; for `p` the absolute URI exactly as the log has it.

    Raises:
        InvalidAction: The descriptor is malformed, or the vector is inline.
    """
    if dv.storage_type == "u":
        prefix, uuid = _split_uuid_path(dv)
        folder = f"{prefix}/" if prefix else ""
        return f"{table_root.rstrip('/')}/{folder}deletion_vector_{uuid}.bin"
    if dv.storage_type == "p":
        return dv.path_or_inline_dv
    raise _invalid(dv, f"storage type {dv.storage_type!r} has no file")


def check_deletion_vector(dv: DeletionVector) -> None:
    """Refuse a descriptor that breaks the protocol's structural rules; the bitmap itself is not read.

    Raises:
        InvalidAction: A field is missing, out of range or malformed.
    """
    if "maxRowIndex" in dv.extra:
        raise _invalid(dv, "maxRowIndex must not be in the log")
    for field, value, largest in (
        ("offset", dv.offset or 0, _MAX_INT),
        ("sizeInBytes", dv.size_in_bytes, _MAX_INT),
        ("cardinality", dv.cardinality, _MAX_LONG),
    ):
        if not 0 <= value <= largest:
            raise _invalid(dv, f"{field} {value} is out of range")
    match dv.storage_type:
        case "u":
            _split_uuid_path(dv)
        case "p":
            _check_absolute_uri(dv)
        case "i":
            _check_inline(dv)
        case _:
            raise _invalid(dv, "storageType must be 'u', 'i' or 'p'")


def _split_uuid_path(dv: DeletionVector) -> tuple[str, UUID]:
    text = dv.path_or_inline_dv
    if len(text) < _ENCODED_UUID_LENGTH:
        raise _invalid(dv, f"a UUID takes {_ENCODED_UUID_LENGTH} characters")
    prefix, encoded = text[:-_ENCODED_UUID_LENGTH], text[-_ENCODED_UUID_LENGTH:]
    # The prefix is the name of one folder in the table; anything else could lead out of it.
    if "/" in prefix or prefix in {".", ".."}:
        raise _invalid(dv, f"prefix {prefix!r} is not a folder name")
    try:
        return prefix, UUID(bytes=z85_decode(encoded))
    except ValueError as error:
        raise _invalid(dv, "its UUID is not valid Z85") from error


def _check_absolute_uri(dv: DeletionVector) -> None:
    if not _ABSOLUTE_URI.match(dv.path_or_inline_dv):
        raise _invalid(dv, "a path must be an absolute URI")
    check_path(dv.path_or_inline_dv)


def _check_inline(dv: DeletionVector) -> None:
    if dv.offset is not None:
        raise _invalid(dv, "an inline vector has no offset")
    try:
        data = z85_decode(dv.path_or_inline_dv)
    except ValueError as error:
        raise _invalid(dv, "its data is not valid Z85") from error
    if len(data) < dv.size_in_bytes:
        raise _invalid(dv, f"sizeInBytes is {dv.size_in_bytes} but there are {len(data)} bytes")


def _invalid(dv: DeletionVector, problem: str) -> InvalidAction:
    return InvalidAction(f"deletion vector {dv.unique_id!r}: {problem}")
