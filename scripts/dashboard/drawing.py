"""Draws the panels of the dashboard as one picture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import isnan
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from scripts.dashboard.panels import Panel
from scripts.dashboard.prometheus import Series

_COLUMNS = 4
_PANEL_INCHES = (4.2, 2.6)
_MOST_NAMES = 7
_UNITS = {"ms": "ms", "s": "s", "bytes": "MiB", "Bps": "MiB/s", "rps": "records/s", "reqps": "requests/s"}
_MEBIBYTE = 1 << 20
_DOTS_PER_INCH = 72
_COLORS = 128
"""Enough for the lines and the text; with all colors the file would be three times as large."""


class Line(NamedTuple):
    """A line of a panel."""

    name: str
    series: Series


def _name(line: Line) -> str:
    return line.name


def named(legend: str, series: Series) -> Line:
    """Return a line with the name that Grafana gives it: `{{label}}` stands for the value of a label."""
    name = re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: series.labels.get(found[1], ""), legend)
    return Line(name, series)


def draw(panels: Mapping[Panel, Sequence[Line]], file: Path, *, begin_s: float, title: str) -> None:
    """Write a PNG file.

    Args:
        panels: with their lines.
        file: its path.
        begin_s: the time that is 0 in the picture, in seconds since 1970.
        title: shown above the picture.
    """
    rows = -(-len(panels) // _COLUMNS)
    with mpl.rc_context({"font.size": 7}):
        size = (_PANEL_INCHES[0] * _COLUMNS, _PANEL_INCHES[1] * rows)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, _COLUMNS, squeeze=False)
        for axes, (panel, lines) in zip(grid.flat, panels.items(), strict=False):
            _draw(axes, panel, lines, begin_s)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        figure.suptitle(title, fontsize=11)
        picture = BytesIO()
        figure.savefig(picture, format="png", dpi=_DOTS_PER_INCH)
    with Image.open(picture) as image:
        image.convert("RGB").quantize(_COLORS).save(file, format="png", optimize=True)


def _draw(axes: Axes, panel: Panel, lines: Sequence[Line], begin_s: float) -> None:
    axes.set_title(panel.title)
    axes.grid(linewidth=0.3)
    divisor = _MEBIBYTE if panel.unit in ("bytes", "Bps") else 1
    if panel.kind == "state-timeline":
        _draw_states(axes, lines, begin_s)
        return
    for line in sorted(lines, key=_name):
        times_s = [at_s - begin_s for at_s in line.series.times_s]
        axes.plot(times_s, [value / divisor for value in line.series.values], label=line.name, linewidth=1)
    axes.set_ylabel(_UNITS.get(panel.unit, ""))
    axes.set_xlabel("s")
    highest = max((value for line in lines for value in line.series.values if not isnan(value)), default=0) / divisor
    axes.set_ylim(0, highest * 1.1 or 1)
    if 1 < len(lines) <= _MOST_NAMES:
        axes.legend(loc="best", fontsize=6)


def _draw_states(axes: Axes, lines: Sequence[Line], begin_s: float) -> None:
    """Draw a row for each state of each node, with a mark for each second in which it was in that state."""
    ordered = sorted(lines, key=_name, reverse=True)
    for row, line in enumerate(ordered):
        times_s = [at_s - begin_s for at_s in line.series.times_s]
        axes.plot(times_s, [row] * len(times_s), "s", markersize=3)
    axes.set_yticks(range(len(ordered)), [line.name for line in ordered])
    axes.set_xlabel("s")
