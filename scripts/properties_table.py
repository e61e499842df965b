"""Writes docs/properties.md: the properties of a node, from their tables (`raft.config`).

python -m scripts.properties_table            writes the document
python -m scripts.properties_table --check    writes nothing; the exit code is 1 if it is out of date
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from raft.config.listener_security import SECURITY_PROPERTIES
from raft.config.node import NODE_PROPERTIES, WITHOUT_EFFECT
from raft.config.property import Property
from scripts.options_table import write_or_check
from scripts.rule_citations import ROOT

DOCUMENT = ROOT / "docs" / "properties.md"

_HEAD = """\
# Properties of a node

Made by `python -m scripts.properties_table` from the tables in `raft/config`. Names are Kafka's, except those with the
prefix `raft.`. Times are in milliseconds, sizes in bytes. A node refuses a value that is not expected, and warns of a
name that it does not know. [conf/node.properties](../conf/node.properties) is a whole file, which explains more."""

_SECURITY = """\
## TLS and SASL

[Security](security.md) explains these properties. Those of `ssl.*`, `sasl.enabled.mechanisms` and
`connections.max.reauth.ms` are for all listeners, or with the prefix `listener.name.<name>.` for one. A property of TLS
or SASL that no listener uses is refused."""

_WITHOUT_EFFECT = """\
## Without effect

A node accepts these properties of Kafka's nodes with a warning."""


def document() -> str:
    """Return the content of the document."""
    unused = "\n".join(f"| `{name}` | {reason} |" for name, reason in WITHOUT_EFFECT.items())
    parts = (_HEAD, _table(NODE_PROPERTIES), _SECURITY, _table(SECURITY_PROPERTIES), _WITHOUT_EFFECT)
    return "\n\n".join((*parts, f"| property | reason |\n|---|---|\n{unused}")) + "\n"


def _table(rows: Iterable[Property]) -> str:
    lines = (f"| `{row.name}` | {row.shown_default} | {row.meaning} |" for row in rows)
    return "\n".join(("| property | default | meaning |", "|---|---|---|", *lines))


def main(arguments: list[str] | None = None) -> int:
    """Write or check the document; return the exit code."""
    return write_or_check(DOCUMENT, document(), "scripts.properties_table", arguments)


if __name__ == "__main__":
    sys.exit(main())
