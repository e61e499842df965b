"""The table of ratios, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.conditions import NOTES
from benchmarks.contest import Better
from benchmarks.ratios import Line, Spread
from benchmarks.report import Report

_MARKS = {"aim": "aim", "at least": "yes", "no": "**no**", "": ""}


def table(report: Report, *, picture: str) -> str:
    """Return the page.

    Args:
        report: the results.
        picture: the file with the picture, beside the page.
    """
    parts = [
        "# This project beside its peers",
        f"Written by `{report.conditions['command']}`.",
        f"![ratios]({picture})",
        "\n".join(ratio_rows(report.lines)),
        *_faults("Left out", {work: "; ".join(words) for work, words in report.missing.items()}),
        *_faults("Failed", {work: f"`{_last_line(words)}`" for work, words in report.failed.items()}),
        "\n".join(f"- {note}" for note in NOTES),
        "\n".join(["| condition | value |", "|---|---|", *_conditions(report)]),
    ]
    return "\n\n".join(parts) + "\n"


def ratio_rows(lines: Sequence[Line]) -> list[str]:
    """Return the table, with the columns of a baseline if one was measured."""
    has_baseline = any(line.baseline_ratio is not None for line in lines)
    heads = ["work", "measure", "beside", "ours", "peer", "ours / peer"]
    heads += ["baseline / peer", "ours / baseline"] if has_baseline else []
    heads += ["at least", "aim", "reached"]
    rows = [_row(heads), _row(["---"] * len(heads))]
    return rows + [_row(_cells(line, has_baseline=has_baseline)) for line in lines]


def _cells(line: Line, *, has_baseline: bool) -> list[str]:
    comparison = line.comparison
    cells = [
        comparison.title,
        comparison.measure,
        comparison.peer,
        _value(line.ours.median),
        _value(line.peer.median),
        f"**{_spread(line.ratio)[0]}** {_spread(line.ratio)[1]}",
    ]
    if has_baseline:
        cells += [" ".join(_spread(spread)) for spread in (line.baseline_ratio, line.change)]
    bounds = (comparison.at_least, comparison.aim)
    return cells + [_bound(bound, comparison.better) for bound in bounds] + [_MARKS[line.reached]]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _spread(spread: Spread | None) -> tuple[str, str]:
    return ("", "") if spread is None else (f"{spread.median:.2f}", f"[{spread.low:.2f} .. {spread.high:.2f}]")


def _value(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _bound(bound: float | None, better: Better) -> str:
    if bound is None:
        return ""
    return f"{'≥' if better is Better.HIGHER else '≤'} {bound:g}"


def _faults(title: str, words: dict[str, str]) -> Iterable[str]:
    if words:
        yield "\n".join([f"{title}:", *(f"- {work}: {reason}" for work, reason in words.items())])


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def _conditions(report: Report) -> Iterable[str]:
    return (_row([name, value]) for name, value in report.conditions.items())
