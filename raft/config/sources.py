"""Where the properties of a node come from: a file, and the overrides on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from raft.config.secret import HIDDEN, is_secret
from raft.errors import ConfigError
from raft.properties import parse_properties


def read_properties(path: Path) -> dict[str, str]:
    """Return the properties in a file. A byte order mark, as editors on Windows write it, is skipped.

    Raises:
        ConfigError: the file cannot be read, or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"got byte 0x{error.object[error.start]:02x} at byte {error.start}"
        raise ConfigError(f"cannot read {path}: expected a properties file in UTF-8, {found}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_properties(text)


def parse_overrides(overrides: Iterable[str]) -> dict[str, str]:
    """Return the properties in `key=value` arguments of a command line.

    Raises:
        ConfigError: an argument has no `=`, or no key before it.
    """
    pairs = {}
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            shown = HIDDEN if is_secret(override) else override
            raise ConfigError(f"--override {shown}: expected key=value")
        pairs[key.strip()] = value.strip()
    return pairs
