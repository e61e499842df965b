"""Which references to secrets the options of a query may have: a list in the environment of the driver.

    KRAFT_CONFIG_PROVIDERS=file:/etc/kraft,directory:/run/secrets,env:KRAFT_PASSWORD

    file:PATH         keys of the file PATH, and of the files below the directory PATH
    directory:PATH    files below the directory PATH
    env:NAME          the environment variable NAME
    file, directory, env    without a place: all of that kind

References are resolved where a connection is opened, and the options say to which address. So a user who may only write
SQL could have files and variables of the driver and the executors sent to any address. Without the variable an option
has no references. Those in the file that `KRAFT_CONFIG` names may refer to anything, because who can write that file is
trusted. A relative PATH is that of a file of Spark.

The option `kraft.config` names a file of the driver, and may name those to whose keys an option may refer. That user
could also have written the file, so what it refers to is checked as if it stood in options.

Source: Kafka's `org.apache.kafka.automatic.config.providers` and `allowed.paths` (CVE-2024-31141).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from raft.errors import ConfigError
from raft.security.references import Reference, references_in

VARIABLE = "KRAFT_CONFIG_PROVIDERS"

_PROVIDERS = ("env", "file", "directory")


@dataclass(frozen=True, slots=True)
class AllowedReferences:
    """The references that options may have.

    Fields:
        places: by provider; None for all of that provider.
    """

    places: Mapping[str, frozenset[str] | None]

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> AllowedReferences:
        """Return what the environment allows.

        Raises:
            ConfigError: an entry has another form.
        """
        found: dict[str, set[str] | None] = {}
        for entry in filter(None, map(str.strip, environment.get(VARIABLE, "").split(","))):
            provider, colon, place = entry.partition(":")
            if provider not in _PROVIDERS or (colon and not place):
                raise ConfigError(f"{VARIABLE}: {entry}: expected file:PATH, directory:PATH or env:NAME")
            known = found.setdefault(provider, set())
            if not colon:
                found[provider] = None
            elif known is not None:
                known.add(place)
        return cls({provider: None if places is None else frozenset(places) for provider, places in found.items()})

    def check(self, options: Mapping[str, str]) -> None:
        """Check the references in the options of a query.

        Raises:
            ConfigError: one is not allowed; says how to allow it.
        """
        for name, value in options.items():
            for reference in references_in(value):
                if reference.provider in _PROVIDERS and not self._allows(reference):
                    entry = f"{reference.provider}:{reference.place}"
                    raise ConfigError(
                        f"option {name}: {reference.written} is not allowed here: expected {entry} in the environment "
                        f"variable {VARIABLE} of the driver, set before Spark starts, or the option in the file that "
                        "KRAFT_CONFIG names"
                    )

    def check_file(self, name: str, path: str) -> None:
        """Check a file with options that an option names.

        Args:
            name: of the option.
            path: of the file.

        Raises:
            ConfigError: it is not allowed; says how to allow it.
        """
        if not self._allows(Reference(written=path, provider="file", place=path, name="")):
            raise ConfigError(
                f"option {name}: the file {path} is not allowed here: expected file:{path} in the environment variable "
                f"{VARIABLE} of the driver, set before Spark starts"
            )

    def _allows(self, reference: Reference) -> bool:
        places = self.places.get(reference.provider, frozenset())
        if places is None:
            return True
        if reference.provider == "env":
            return reference.place in places
        return any(_is_within(reference.place, place) for place in places)


def _is_within(path: str, place: str) -> bool:
    """Return whether a path is a place or below it; `..` is resolved first."""
    inner, outer = (PurePosixPath(posixpath.normpath(each)) for each in (path, place))
    return inner.is_absolute() == outer.is_absolute() and ".." not in inner.parts and inner.is_relative_to(outer)
