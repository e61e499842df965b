"""The defaults of options: a properties file, which the environment variable `KRAFT_CONFIG` names, or one query itself.

    bootstrap.servers=node1:9092,node2:9092     options, some of them also by the keys of Kafka's clients
    kraft.cluster.id=J8qFJ5vSQ_WmUo0zCbbnZg
    maxOffsetsPerTrigger=100000

A table of Spark's catalog keeps no options, and some statements of SQL cannot have any, so theirs come from here.
Only the processes on the driver that plan reads and writes read the file. Tasks get the resulting options.

The option `kraft.config` names another such file for one read, write or table, in place of the one of the environment.
Its author may not be allowed to read files of the driver, so the option follows the rules for references in options:
`datasource.allowed_references`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from datasource.allowed_references import AllowedReferences
from datasource.client_options import BOOTSTRAP_SERVERS, CONFIG_FILE, RACK, READ_FROM, SECURITY_NAMES, security_of
from datasource.option import Options, Use, value_of
from datasource.option_names import check_names
from datasource.options import BY_LOWERED_NAME, OPTIONS
from datasource.spark_files import locate
from raft.config import read_properties
from raft.errors import ConfigError

Parsed = TypeVar("Parsed")

VARIABLE = "KRAFT_CONFIG"
"""Environment variable with the path of the file. Spark's JVM passes it on to the processes that plan."""

_KAFKA_KEYS = {row.name.removeprefix("kraft."): row for row in OPTIONS if row.is_kafkas}
_REPLACED = {"startingOffsets": "startingTimestamp", "endingOffsets": "endingTimestamp"}
"""The defaults that an option replaces beside its own, because they would be used instead of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultOptions:
    """The options in the file; none if no file is named.

    Fields:
        source: the file in words, for messages.
        options: values by the names of the options.
    """

    source: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> DefaultOptions:
        """Return the options in the file that the environment names.

        Raises:
            ConfigError: the file cannot be read, or an option in it is unknown, given twice or has a wrong value; says
                which file and option, and what is expected.
        """
        path = environment.get(VARIABLE, "").strip()
        return cls._of_file(Path(path), named_by=VARIABLE) if path else cls()

    @classmethod
    def of(cls, given: Options, environment: Mapping[str, str] = os.environ) -> DefaultOptions:
        """Return the options in the file that a query names, or else the environment.

        Args:
            given: the options of the query.
            environment: of the driver.

        Raises:
            ConfigError: see `of_environment`; or the query may not name this file, or not what the file refers to.
        """
        path = value_of(given, CONFIG_FILE)
        if path is None:
            return cls.of_environment(environment)
        if not path:
            raise ConfigError(f"{CONFIG_FILE}=: expected the path of a properties file")
        allowed = AllowedReferences.of_environment(environment)
        allowed.check_file(CONFIG_FILE, path)
        try:
            found = locate(path)
        except OSError as error:
            raise ConfigError(f"{CONFIG_FILE}={path}: {error.strerror}") from error
        return cls._of_file(found, named_by=CONFIG_FILE, references=allowed)

    @classmethod
    def _of_file(cls, path: Path, *, named_by: str, references: AllowedReferences | None = None) -> DefaultOptions:
        """Read a file.

        Args:
            path: the file.
            named_by: what names it, for messages.
            references: those that it may have; None for all.
        """
        source = f"the file {path.absolute()} ({named_by})"
        try:
            options = _named_as_options(read_properties(path))
            if references is not None:
                references.check(options)
            for name, value in options.items():
                BY_LOWERED_NAME[name.lower()].parse(name, value.strip())
            security_of(options)
        except ConfigError as error:
            raise ConfigError(f"{source} cannot be used: {error}") from error
        return cls(source=source, options=options)

    def parse(self, parser: Callable[[Options], Parsed], given: Options, use: Use) -> Parsed:
        """Return the options of a read or a write.

        Args:
            parser: `ReadOptions.of` or `WriteOptions.of`.
            given: the options of the user, which win.
            use: what the defaults must be for.

        Raises:
            ConfigError: see the parser; the error names the file too if it names an option that the file has. Or a
                given option has a reference that is not allowed there.
        """
        AllowedReferences.of_environment().check(given)
        try:
            return parser(self.below(given, use))
        except ConfigError as error:
            if any(name in str(error) for name in self.options):
                raise ConfigError(f"{error}. Options that are not given come from {self.source}") from error
            raise

    def below(self, given: Options, use: Use) -> dict[str, str]:
        """Return the given options, and the defaults for what they leave open.

        Defaults that say how a connection is secured are used together or not at all: with the authority, the mechanism
        or the servers of another one, a query would send the name and the password of the file to an address of its
        choice.

        Args:
            given: see `parse`.
            use: see `parse`.
        """
        names = {name.lower() for name in given}
        if not self._is_secured_by_file(given, names):
            names |= {name.lower() for name in SECURITY_NAMES}
        names |= {other.lower() for name, other in _REPLACED.items() if name.lower() in names}
        defaults = {
            name: value
            for name, value in self.options.items()
            if use in BY_LOWERED_NAME[name.lower()].uses and name.lower() not in names
        }
        if use is Use.BATCH and _lowered(defaults, "startingOffsets") == "latest":
            del defaults["startingOffsets"]
        merged = {**{name: value for name, value in given.items() if name.lower() != CONFIG_FILE}, **defaults}
        # Without the option that they belong to, these two are errors if given, but have no effect as defaults.
        if RACK in defaults and _lowered(merged, READ_FROM) != "nearest":
            del merged[RACK]
        if "maxTriggerDelay" in defaults and value_of(merged, "minOffsetsPerTrigger") is None:
            del merged["maxTriggerDelay"]
        return merged

    def _is_secured_by_file(self, given: Options, names: set[str]) -> bool:
        if not names.isdisjoint(name.lower() for name in SECURITY_NAMES):
            return False
        servers, known = _lowered(given, BOOTSTRAP_SERVERS), _lowered(self.options, BOOTSTRAP_SERVERS)
        return servers is None or known is None or _servers(servers) <= _servers(known)


def _lowered(options: Options, name: str) -> str | None:
    value = value_of(options, name)
    return None if value is None else value.lower()


def _servers(text: str) -> set[str]:
    return {server.strip() for server in text.split(",")}


def _named_as_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties by the names of options."""
    named: dict[str, str] = {}
    for key, value in properties.items():
        row = _KAFKA_KEYS.get(key) or BY_LOWERED_NAME.get(key.lower())
        if row is None:
            check_names({key: value})
            raise ConfigError(f"{key} is an option of Spark for one query or table: give it there")
        if row.name in named:
            raise ConfigError(f"it has {row.name} twice, as {key} too: expected one of them")
        if row.name == CONFIG_FILE:
            raise ConfigError(f"{CONFIG_FILE} names a file for one query: expected no other file in this one")
        if row.is_for_one_use:
            raise ConfigError(f"{row.name} names one write and is no default: give it to that write as an option")
        named[row.name] = value
    return named
