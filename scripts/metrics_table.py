"""Writes the table of docs/metrics.md from a scrape of a real node.

python -m scripts.metrics_table

A test compares the table with another scrape.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from raft.local import LocalQuorum
from raft.types import NodeId

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "metrics.md"

_BEGIN = "<!-- made by python -m scripts.metrics_table -->"
_END = "<!-- end -->"


def table(scrape: str) -> str:
    """Return the table of all metrics of a scrape."""
    rows = sorted(_rows(scrape))
    return "\n".join(["| metric | type | meaning | Kafka's name |", "|---|---|---|---|", *rows])


def _rows(scrape: str) -> Iterator[str]:
    for family in text_string_to_metric_families(scrape):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        meaning, _, bean = family.documentation.rpartition(" kafka.")
        if not meaning:
            meaning, bean = family.documentation, ""
        kafka_name = f"`kafka.{bean}`" if bean else ""
        yield f"| `{name}` | {family.type} | {meaning} | {kafka_name} |".replace("  |", " |")


def with_table(document: str, rows: str) -> str:
    """Return a document with another table."""
    before, _, rest = document.partition(_BEGIN)
    _, _, behind = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n{rows}\n\n{_END}{behind}"


def main() -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalQuorum.start(Path(folder), voters=1, metrics=True) as quorum,
        urlopen(f"http://{quorum.metrics_endpoints[NodeId(1)]}/metrics", timeout=10) as response,
    ):
        found = table(response.read().decode())
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(), found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
