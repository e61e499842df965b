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
from dataclasses import dataclass
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
    return _REFERENCE.sub(lambda match: _value(match, locate), text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference in a text.

    Fields:
        written: as it stands there.
        provider: `env`, `file` or `directory` in one that can be resolved.
        place: the variable, the file or the directory; "" if there is none.
        name: the key in the file, or the name of a file in the directory; "" for a variable, and if there is none.
    """

    written: str
    provider: str
    place: str
    name: str

    @classmethod
    def of(cls, match: re.Match[str]) -> Reference:
        """Return the reference that was found."""
        provider, place = match["provider"], match["place"]
        path, _, name = place.rpartition(":")
        if provider == "env":
            path, name = place, ""
        return cls(written=match[0], provider=provider, place=path, name=name)


def references_in(text: str) -> list[Reference]:
    """Return the references in a text."""
    return [Reference.of(match) for match in _REFERENCE.finditer(text)]


def files_of(text: str, locate: Locate = file_path) -> list[Path]:
    """Return the files that the references of a text name, whether they exist or not.

    Args:
        text: of a setting.
        locate: finds the files that are named.
    """
    found = []
    for reference in references_in(text):
        if reference.provider in ("file", "directory") and reference.place:
            try:
                place = locate(reference.place)
            except OSError:
                continue  # `resolve` says what is wrong.
            found.append(place if reference.provider == "file" else place / reference.name)
    return found


def _value(match: re.Match[str], locate: Locate) -> str:
    reference = Reference.of(match)
    written, place, name = reference.written, reference.place, reference.name
    if reference.provider == "env":
        value = os.environ.get(place)
        if value is None:
            raise ConfigError(f"{written}: the environment has no variable {place}")
        return value
    if reference.provider not in ("file", "directory") or not place or not name:
        raise ConfigError(f"{written}: expected {_EXPECTED}")
    if reference.provider == "file":
        return _value_in_file(written, place, name, locate)
    if "/" in name or name == "..":
        raise ConfigError(f"{written}: expected the name of a file in that directory, without a path")
    try:
        return (locate(place) / name).read_text(encoding="utf-8").rstrip("\r\n")
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
