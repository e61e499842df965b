"""The dashboard, the alert rules and the document name metrics that a node serves, and the alerts fire."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.dashboard.panels import panels
from scripts.metrics_table import DOCUMENT, table, with_table
from tests.metrics.scraped import scrape
from tests.node.harness.loop import NodesInProcess

ROOT = Path(__file__).parents[2]
RULES = ROOT / "conf" / "prometheus-alerts.yml"
RULE_TESTS = Path(__file__).with_name("alerts.test.yml")
NAME = re.compile(r"\b(?:kafka|kraft|process)_[a-z0-9_]+")
NEVER, ALWAYS = "vector(0) > 1", "vector(1)"
OF_PROMETHEUS = {"up"}


def alerts() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text())


def served(nodes: NodesInProcess) -> set[str]:
    """The names of all series that a node may serve: a histogram or a counter without samples counts too."""
    found = scrape(nodes, nodes.wait_for_leader())
    histograms = {name + end for name in found.names for end in ("_bucket", "_sum", "_count")}
    return found.names | found.sample_names | histograms


@pytest.fixture(scope="module")
def promtool() -> str:
    """Debian's promtool, which scripts/ensure_prometheus.sh installs."""
    found = shutil.which("promtool")
    if found is None:
        missing = "promtool is missing: bash scripts/ensure_prometheus.sh"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return found


def check(promtool: str, rules: str, folder: Path) -> int:
    """Run the tests of the rules on these rules; return the exit code."""
    (folder / "rules.yml").write_text(rules)
    tests = RULE_TESTS.read_text().replace("../../conf/prometheus-alerts.yml", str(folder / "rules.yml"))
    (folder / "tests.yml").write_text(tests)
    command = [promtool, "test", "rules", str(folder / "tests.yml")]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode


def with_expression(alert: str, expression: str) -> str:
    """The rules, one of them with another expression, which it has as long as its own would have to hold."""
    before, name, behind = RULES.read_text().partition(f"- alert: {alert}\n")
    changed, count = re.subn(
        r"expr: .*?\n(?=        (?:for|labels):)", f"expr: {expression}\n", behind, count=1, flags=re.DOTALL
    )
    assert count == 1
    return before + name + changed


def test_rules_pass_their_tests(promtool: str, tmp_path: Path) -> None:
    assert check(promtool, RULES.read_text(), tmp_path) == 0


@pytest.mark.parametrize("alert", alerts())
@pytest.mark.parametrize("expression", [NEVER, ALWAYS], ids=["never fires", "always fires"])
def test_tests_of_the_rules_find_a_rule_that_is_wrong(
    promtool: str, tmp_path: Path, alert: str, expression: str
) -> None:
    assert check(promtool, with_expression(alert, expression), tmp_path) == 1


def test_rules_use_metrics_that_a_node_serves(measured: NodesInProcess) -> None:
    used = set(NAME.findall(re.sub(r"^ *(?:summary|description):.*$|^#.*$", "", RULES.read_text(), flags=re.MULTILINE)))

    assert len(used) >= 10
    assert not used - served(measured)


def test_dashboard_uses_metrics_that_a_node_serves(measured: NodesInProcess) -> None:
    names = {panel.title: set(NAME.findall(" ".join(query for query, _ in panel.queries))) for panel in panels()}
    found = served(measured)

    assert len(names) >= 20
    assert {title: used - found for title, used in names.items() if used - found} == {}
    assert [title for title, used in names.items() if not used] == ["Nodes that respond"], "which has `up`"


def test_panels_of_the_dashboard_have_ids_and_places_of_their_own() -> None:
    found = json.loads((ROOT / "conf" / "grafana-dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in found)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len({panel["id"] for panel in found}) == len(found)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_document_lists_what_nodes_serve(measured: NodesInProcess) -> None:
    found = table(scrape(measured, measured.wait_for_leader()).text)

    assert with_table(DOCUMENT.read_text(), found) == DOCUMENT.read_text(), "run python -m scripts.metrics_table"
