"""The picture of the ratios: a point for each line of the table, right of the middle if ours is better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.contest import Better
from benchmarks.ratios import Line, Spread

_OURS, _BASELINE, _BOUND = "#1f77b4", "#888888", "#d62728"
_LINE_INCHES = 0.42
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)


def draw(lines: Sequence[Line], file: Path, *, title: str) -> None:
    """Write an SVG file.

    Args:
        lines: at least one, from top to bottom.
        file: its path.
        title: shown above the picture.
    """
    # The same figures give the same file: ids are not random, and there is no date.
    with mpl.rc_context({"svg.hashsalt": "ratios", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(11, 1.6 + _LINE_INCHES * len(lines)), layout="constrained")
        axes = figure.add_subplot()
        for row, line in enumerate(lines):
            if line.baseline_ratio is not None:
                _point(axes, line, line.baseline_ratio, row + 0.22, _BASELINE, "baseline")
            _point(axes, line, line.ratio, row, _OURS, "ours")
            if line.comparison.at_least is not None:
                bound = _advantage(line.comparison.at_least, line.comparison.better)
                axes.plot([bound, bound], [row - 0.35, row + 0.35], color=_BOUND, linewidth=1.5, label="at least")
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
        axes.set_yticks(range(len(lines)), [_label(line) for line in lines])
        axes.invert_yaxis()
        axes.grid(axis="x", linewidth=0.3)
        axes.set_xlabel("times as good as the peer (for times: peer / ours); median and range of all rounds")
        axes.set_title(title)
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        axes.legend(once.values(), once.keys(), loc="best")
        figure.savefig(file, format="svg", metadata={"Date": None})


def _point(axes: Axes, line: Line, ratio: Spread, at: float, color: str, label: str) -> None:
    better = line.comparison.better
    low, median, high = sorted(_advantage(value, better) for value in (ratio.low, ratio.median, ratio.high))
    axes.plot([low, high], [at, at], color=color, linewidth=1)
    axes.plot([median], [at], "o", color=color, markersize=5, label=label)


def _advantage(ratio: float, better: Better) -> float:
    return ratio if better is Better.HIGHER else 1 / ratio


def _label(line: Line) -> str:
    comparison = line.comparison
    return f"{comparison.title}: {comparison.measure}\n{comparison.peer}"
