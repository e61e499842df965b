"""The panels of conf/grafana-dashboard.json that have queries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

DASHBOARD = Path(__file__).parents[2] / "conf" / "grafana-dashboard.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel of the dashboard.

    Fields:
        kind: Grafana's.
        unit: Grafana's.
        queries: each with the name of its lines.
    """

    title: str
    kind: str
    unit: str
    queries: tuple[tuple[str, str], ...]


def panels() -> list[Panel]:
    """Return the panels that have queries, in their order."""
    return [
        Panel(
            title=panel["title"],
            kind=panel["type"],
            unit=panel["fieldConfig"]["defaults"]["unit"],
            queries=tuple((target["expr"], target["legendFormat"]) for target in panel["targets"]),
        )
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        if panel["type"] != "row"
    ]
