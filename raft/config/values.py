"""Parsers of single values: numbers, words, names and choices. Errors name the key, the value and what is expected."""

from __future__ import annotations

import re
from enum import Enum
from typing import TypeVar

from raft.config.property import Parse
from raft.config.secret import HIDDEN, is_secret
from raft.errors import ConfigError
from raft.types import Uuid
from raft.uuids import parse_uuid

Choice = TypeVar("Choice", bound=Enum)

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


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


def at_least(least: int, *, at_most: int | None = None) -> Parse[int]:
    """Return the parser of a whole number.

    Args:
        least: the lowest number expected.
        at_most: the highest number expected; None for no bound.
    """
    expected = f"a whole number of {least} or more" if at_most is None else f"{least} to {at_most}"

    def parse(key: str, value: str) -> int:
        if not _WHOLE.fullmatch(value) or int(value) < least or (at_most is not None and int(value) > at_most):
            raise refuse(key, value, expected)
        return int(value)

    return parse


def choice_of(choices: type[Choice], expected: str | None = None) -> Parse[Choice]:
    """Return the parser of the values of an enum, in upper or lower case.

    Args:
        choices: the enum.
        expected: its values in words; None for a list of them.
    """
    by_text = {choice.value.lower(): choice for choice in choices}
    in_words = expected or ", ".join(choice.value for choice in choices)

    def parse(key: str, value: str) -> Choice:
        if value.lower() not in by_text:
            raise refuse(key, value, in_words)
        return by_text[value.lower()]

    return parse


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
