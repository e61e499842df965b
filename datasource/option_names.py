"""Which names of options are accepted: those of the table, and those of Spark."""

from __future__ import annotations

import difflib

from datasource.client_options import BOOTSTRAP_SERVERS
from datasource.kafka_options import why_not
from datasource.option import Options
from datasource.options import BY_LOWERED_NAME
from raft.errors import ConfigError

_OF_SPARK = ("checkpointlocation", "queryname", "owner", "provider")
"""Options that Spark adds, for a sink or a table."""

_OF_FILES = ("path", "paths", "location", "external")
"""Options that Spark makes of the path of a read, a write or a table."""

_PREFIX = "kraft."
_LIKENESS = 0.65
"""The ratio of difflib from which on a name is taken for a misspelt option: maxOffsets and maxOffsetsPerTrigger have
0.67, auto.offset.reset and startingOffsets, which differ, have 0.56."""


def check_names(options: Options) -> None:
    """Check that all names are options of this source or of Spark.

    Raises:
        ConfigError: a name is not an option; says why, or which option is similar, or which options exist.
    """
    for name in options:
        lowered = name.lower()
        if lowered in BY_LOWERED_NAME or lowered.startswith("option.") or lowered in _OF_SPARK:
            continue
        if lowered in _OF_FILES:
            raise ConfigError(
                f"option {name}: a log has no path, because {BOOTSTRAP_SERVERS} says where it is; remove the path of "
                "load() or save(), and LOCATION or EXTERNAL from a table"
            )
        why = why_not(name)
        if why is not None:
            raise ConfigError(f"option {name} of Kafka does not exist here: {why}")
        meant = _nearest(lowered)
        expected = ", ".join(sorted(row.name for row in BY_LOWERED_NAME.values()))
        hint = f"did you mean {meant}?" if meant else f"expected one of {expected}"
        raise ConfigError(f"unknown option {name}: {hint}")


def _nearest(lowered: str) -> str | None:
    """Return the option with the most similar name; None if no name is similar enough."""
    # The prefix is removed, because it would make many names similar to each other.
    by_bare_name = {name.removeprefix(_PREFIX): row.name for name, row in BY_LOWERED_NAME.items()}
    near = difflib.get_close_matches(lowered.removeprefix(_PREFIX), by_bare_name, n=1, cutoff=_LIKENESS)
    return by_bare_name[near[0]] if near else None
