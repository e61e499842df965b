"""Parsers of single values: numbers, words, names and choices. Errors name the key, the value and what is expected."""

from __future__ import annotations

import re

from raft.config.secret import HIDDEN, is_secret
from raft.errors import ConfigError
from raft.types import CleanupPolicy, Uuid
from raft.uuids import parse_uuid

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def cleanup_policy(key: str, value: str) -> CleanupPolicy:
    """Return what becomes of old records."""
    try:
        return CleanupPolicy(value.lower())
    except ValueError:
        raise refuse(key, value, "none, compact or delete") from None


def ratio(key: str, value: str) -> float:
    """Return a number from 0 to 1, 1 excluded."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise refuse(key, value, "a number from 0 up to, and not including, 1")
    return number


def refuse(key: str, value: str, expected: str) -> ConfigError:
    """Return the error for a value that cannot be used. It does not show secrets.

    Args:
        key: of the value.
        value: as it was given.
        expected: the values that can be used, in words.
    """
    return ConfigError(f"{key}={HIDDEN if is_secret(key) else value}: expected {expected}")


def whole_number(key: str, value: str, *, at_least: int, at_most: int | None = None) -> int:
    """Parse a whole number.

    Args:
        key: of the value.
        value: the text.
        at_least: the lowest number expected.
        at_most: the highest number expected; None for no bound.

    Raises:
        ConfigError: it is not a whole number, or out of bounds.
    """
    expected = f"a whole number of {at_least} or more" if at_most is None else f"{at_least} to {at_most}"
    if not _WHOLE.fullmatch(value):
        raise refuse(key, value, expected)
    number = int(value)
    if number < at_least or (at_most is not None and number > at_most):
        raise refuse(key, value, expected)
    return number


def truth(key: str, value: str) -> bool:
    """Parse `true` or `false`, in upper or lower case.

    Raises:
        ConfigError: it is neither.
    """
    lowered = value.lower()
    if lowered not in ("true", "false"):
        raise refuse(key, value, "true or false")
    return lowered == "true"


def words(value: str) -> tuple[str, ...]:
    """Split a text at its commas, and drop blanks and empty parts."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def topic_name(key: str, value: str) -> str:
    """Check the name of a topic by Kafka's rules.

    Raises:
        ConfigError: Kafka does not allow the name.
    """
    if not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise refuse(key, value, "1 to 249 letters, digits, dots, underscores and dashes")
    return value


def uuid(key: str, value: str) -> Uuid:
    """Parse a uuid: 16 bytes as 22 characters of base64url.

    Raises:
        ConfigError: it is not a uuid.
    """
    try:
        return parse_uuid(value)
    except ValueError as error:
        expected = "16 bytes as 22 characters of base64url, such as AAAAAAAAAAAAAAAAAAAAAQ"
        raise refuse(key, value, expected) from error
