"""Database URLs: which are understood, and how they are shown without their secrets."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from twinlog.errors import ConfigurationError

# PostgreSQL takes these as parameters too.
_SECRET_PARAMETERS: Final = ("password", "sslpassword", "passfile")


def parse_address(url: str, backends: Collection[str]) -> URL:
    """Take a URL apart.

    Raises:
        ConfigurationError: its scheme is not one of the backends', or its parts are ambiguous.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.get_backend_name() not in backends:
        raise unsupported(url)
    if parsed.host and url.partition("?")[0].count("@") > 1:
        # A part of the password may pass for the host or the database, and be shown in messages.
        raise ConfigurationError("the URL has more than one @", hint="write an @ in a password as %40, and a / as %2F")
    return parsed


def unsupported(url: str) -> ConfigurationError:
    """The error for a URL that leads to no database of ours."""
    scheme, colon, _ = url.partition(":")
    return ConfigurationError(
        f"not the URL of a supported database: scheme {scheme!r}" if colon else "not a URL",
        hint="use postgresql://user@host/db, sqlite:///file.db or duckdb:///file.duckdb",
    )


def without_secrets(url: URL) -> str:
    """The URL as it may be shown."""
    hidden = {name: "***" for name in _SECRET_PARAMETERS if name in url.query}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def redacted(text: str, url: URL) -> str:
    """A text without the secrets of a URL."""
    parameters = [url.query.get(name) for name in _SECRET_PARAMETERS]
    for secret in (url.password, *parameters):
        if secret:
            text = text.replace(str(secret), "***")
    return text
