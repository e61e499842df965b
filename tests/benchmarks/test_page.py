"""What a run writes: the table, the picture, and everything as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.contest import OURS, Better
from benchmarks.picture import draw
from benchmarks.report import Report
from benchmarks.table import ratio_rows, table
from tests.benchmarks.lines import MEASURE, STEP, comparison, line, samples

CONDITIONS = {"command": "python -m benchmarks.run", "commit": "ebf107a"}


def test_row_holds_values_ratio_and_bounds() -> None:
    measured = line(comparison(at_least=0.75, aim=0.85), samples([700_000, 800_000, 900_000], [1e6, 1e6, 1e6]))

    assert ratio_rows([measured])[2] == (
        "| work | rows/s | peer | 800,000 | 1,000,000 | **0.80** [0.70 .. 0.90] | ≥ 0.75 | ≥ 0.85 | yes |"
    )


def test_row_has_the_columns_of_a_baseline_only_when_there_is_one() -> None:
    with_baseline = line(comparison(better=Better.LOWER), samples([1], [2], baseline=[4]))

    heads, _, row = ratio_rows([with_baseline])

    assert "| baseline / peer | ours / baseline |" in heads
    assert "| 2.00 [2.00 .. 2.00] | 0.25 [0.25 .. 0.25] |" in row
    assert "baseline" not in ratio_rows([line(comparison(), samples([1], [2]))])[0]


def test_report_names_the_lines_that_are_missing_and_why() -> None:
    report = Report(conditions=CONDITIONS)

    report.add("work", [comparison(), comparison(peer="etcd")], samples([1], [2]), ["etcd is not installed"])

    assert [measured.comparison.peer for measured in report.lines] == ["peer"]
    assert report.missing == {"work": ["left out: work, beside etcd", "because etcd is not installed"]}
    assert "- work: left out: work, beside etcd; because etcd is not installed" in table(report, picture="peers.svg")


def test_page_names_works_that_failed_with_the_last_line_of_the_error() -> None:
    report = Report(conditions=CONDITIONS, failed={"sink": "Traceback\n  File\nTimeoutError: too long\n"})

    assert "- sink: `TimeoutError: too long`" in table(report, picture="peers.svg")


def test_json_holds_the_value_of_every_round() -> None:
    report = Report(conditions=CONDITIONS)
    report.add("work", [comparison()], samples([1, 2], [3, 4]), [])

    written = json.loads(report.as_json())

    assert written["conditions"] == CONDITIONS
    assert written["samples"]["work"][STEP][OURS][MEASURE] == [1, 2]
    assert written["lines"][0]["comparison"]["better"] == "higher"


def test_picture_of_the_same_lines_is_the_same_file(tmp_path: Path) -> None:
    lines = [
        line(comparison(at_least=0.75), samples([1, 2], [2, 2], baseline=[1, 1])),
        line(comparison(better=Better.LOWER), samples([1, 2], [2, 2])),
    ]

    for name in ("first.svg", "second.svg"):
        draw(lines, tmp_path / name, title="commit ebf107a")

    first, second = ((tmp_path / name).read_text() for name in ("first.svg", "second.svg"))
    assert first == second
    for words in ("commit ebf107a", "work: rows/s", "baseline", "at least"):
        assert words in first
