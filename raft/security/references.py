"""References to secrets, so that a setting does not contain them, as Kafka's config providers have them.

    ${env:NAME}               an environment variable
    ${file:PATH:KEY}          the value of a key in a `.properties` file
    ${directory:PATH:NAME}    the content of a file

Source: KIP-297; Kafka's EnvVarConfigProvider, FileConfigProvider and DirectoryConfigProvider.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from raft.config import read_properties
from raft.config.paths import file_path
from raft.errors import ConfigError

Locate = Callable[[str], Path]
"""Returns the path of a file by its location in a setting; raises OSError if it finds no such file."""

_REFERENCE = re.compile(r"\$\{(?P<provider>[^}:]*):(?P<place>[^}]*)\}")
_EXPECTED = "${env:NAME}, ${file:PATH:KEY} or ${directory:PATH:NAME}"


def resolve(text: str, locate: Locate = file_path) -> str:
    """Return a text with the values of its references.

    Args:
        text: of a setting.
        locate: finds the files that are named.

    Raises:
        ConfigError: a reference has another form, or what it names does not exist; no message has a value.
    """
    return _REFERENCE.sub(lambda reference: _value(reference, locate), text)


def _value(reference: re.Match[str], locate: Locate) -> str:
    written, provider, place = reference[0], reference["provider"], reference["place"]
    if provider == "env":
        value = os.environ.get(place)
        if value is None:
            raise ConfigError(f"{written}: the environment has no variable {place}")
        return value
    path, colon, name = place.rpartition(":")
    if provider not in ("file", "directory") or not colon or not path or not name:
        raise ConfigError(f"{written}: expected {_EXPECTED}")
    if provider == "file":
        return _value_in_file(written, path, name, locate)
    try:
        return (locate(path) / name).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(f"{written}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{written}: the file is no text") from error
    except ValueError as error:
        raise ConfigError(f"{written}: {error}") from error


def _value_in_file(written: str, path: str, key: str, locate: Locate) -> str:
    try:
        properties = read_properties(locate(path))
    except (ConfigError, OSError, ValueError) as error:
        raise ConfigError(f"{written}: {getattr(error, 'strerror', None) or error}") from error
    if key not in properties:
        raise ConfigError(f"{written}: the file has no key {key}")
    return properties[key]
