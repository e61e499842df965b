"""The snippets of docs/monitoring.md run, and its tables name what there is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import REGISTRY, CollectorRegistry
from pyspark.sql import SparkSession

from kraft_spark import QueryMonitor, QuorumService
from kraft_spark.monitoring import PROGRESS_SCHEMA, progress_log
from kraft_spark.monitoring.monitored_query import Phase
from raft.local.ports import free_ports
from tests.local.conftest import QUICK

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "monitoring.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)


def section(title: str) -> str:
    """The text of a section."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", DOCUMENT, re.DOTALL | re.MULTILINE)
    assert found is not None, title
    return found[1]


def first_cells(text: str) -> list[str]:
    """The names in the first column of the tables."""
    return [name for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)]


@pytest.fixture
def namespace(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the snippets start with: a session, and a quorum with records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    with QuorumService.start(spark, voters=1, data_dir="metadata", settings=QUICK) as quorum:
        rows = spark.range(1_500).selectExpr("cast(id as string) value").coalesce(1)
        rows.write.format("kraft").option("kraft.bootstrap.servers", quorum.bootstrap_servers).mode("append").save()
        names: dict[str, Any] = {"spark": spark, "quorum": quorum, "folder": tmp_path}
        yield names
    if "monitor" in names:
        spark.streams.removeListener(names["monitor"])
    if "collector" in names:
        REGISTRY.unregister(names["collector"])
    if "server" in names:
        names["server"].shutdown()
        names["server"].server_close()
        names["thread"].join()


@pytest.mark.spark
def test_snippets_show_what_the_document_promises_when_run(
    namespace: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (port,) = free_ports(1)
    for snippet in SNIPPETS:
        exec(compile(snippet.replace("9464", str(port)), "docs/monitoring.md", "exec"), namespace)
    shown = capsys.readouterr().out
    scraped = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()

    assert [(row.query_name, row.batch_id) for row in namespace["monitor"].rows()] == [("orders", 0), ("orders", 1)]
    assert re.search(r"\| +orders\| +1\| +1501\| +\d+\|", shown), shown
    assert "LeaderId: 1\n" in shown
    assert "\n1 [0]\n" in shown
    assert 'kraft_queries_terminated_total{outcome="stopped"} 1.0' in scraped
    assert (tmp_path / "lag.png").read_bytes().startswith(b"\x89PNG")


def test_document_names_all_columns() -> None:
    assert first_cells(section("Rows")) == PROGRESS_SCHEMA.names


def test_document_names_all_metrics_and_phases() -> None:
    collector = QueryMonitor().register_metrics(CollectorRegistry())
    endings = {"counter": ("_total",), "summary": ("_sum", "_count"), "gauge": ("",)}

    names = {metric.name + ending for metric in collector.collect() for ending in endings[metric.type]}

    assert {*first_cells(section("Prometheus"))} == names
    assert ", ".join(f"`{phase.value}`" for phase in Phase) in section("Prometheus")


def test_document_names_all_arguments_with_their_defaults() -> None:
    parameters = inspect.signature(QueryMonitor).parameters
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", DOCUMENT.partition("## Rows")[0], re.MULTILINE)

    expected = {name: parameter.default for name, parameter in parameters.items() if name != "now_s"}

    assert dict(documented) == {
        name: "none" if default is None else f"{default:g}" for name, default in expected.items()
    }


def test_document_names_all_log_lines() -> None:
    written = re.findall(r'_logger\.\w+\(\s*"([a-z ]+?) (?:name|%s)', inspect.getsource(progress_log))

    assert len(written) == 7
    assert not [line for line in written if f"`{line}`" not in section("Log lines")]
