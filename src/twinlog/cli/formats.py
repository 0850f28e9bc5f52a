"""Values as people read them."""

import re
from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP: Final = 1024
_PASSWORDS: Final = (
    re.compile(r"(?P<before>://[^/\s:@]*:)\S*(?=@)"),
    re.compile(r"(?P<before>[?&](?:password|sslpassword|passfile)=)[^&\s'\"]*", re.IGNORECASE),
)


def show_bytes(size: int) -> str:
    """A size with a unit, such as 1.5 MiB."""
    amount = float(size)
    for unit in _UNITS:
        if amount < _STEP or unit == _UNITS[-1]:
            break
        amount /= _STEP
    return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"


def show_count(number: int, noun: str) -> str:
    """A number with its noun, such as "1 file" or "2,000 files"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def iso_time(time_ms: int) -> str:
    """A time in UTC with milliseconds, in the form that `--timestamp` takes."""
    seconds, millis = divmod(time_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"  # outside of the calendar; foreign writers do put such numbers into a log
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis:03d}Z"


def clean(text: str) -> str:
    """Text that cannot steer a terminal: control characters and the like become escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def redact(text: str) -> str:
    """Text without the passwords of any URLs in it."""
    for pattern in _PASSWORDS:
        text = pattern.sub(r"\g<before>***", text)
    return text
