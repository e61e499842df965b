"""Quorums in this process that serve their metrics, and what a scrape of them says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from raft.local.ports import free_ports
from tests.metrics.http_client import Answer, ask
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import Properties

Sample = tuple[str, frozenset[tuple[str, str]]]


def with_metrics(configurations: Mapping[int, Properties]) -> dict[int, Properties]:
    """Return the configurations with a listener for metrics, each on a port of its own."""
    ports = dict(zip(configurations, free_ports(len(configurations)), strict=True))
    return {
        node_id: properties | {"metrics.listeners": f"HTTP://127.0.0.1:{ports[node_id]}"}
        for node_id, properties in configurations.items()
    }


def port_of_metrics(properties: Mapping[str, str]) -> int:
    """Return where the node of a configuration serves its metrics."""
    return int(properties["metrics.listeners"].rpartition(":")[2])


class Scrape:
    """A scrape.

    Attributes:
        names: of the metrics, as the documents name them: counters with `_total`.
    """

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        self.text = text
        self.names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
        self.sample_names = {sample.name for family in families for sample in family.samples}
        self._samples: dict[Sample, float] = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float | None:
        """Return the value of a sample; None if there is none."""
        return self._samples.get((name, frozenset(labels.items())))

    def labels_of(self, name: str) -> Iterable[dict[str, str]]:
        """Return the labels of all samples of a name."""
        return [dict(labels) for each, labels in self._samples if each == name]


def metrics_port(nodes: NodesInProcess, node_id: int) -> int:
    """Return where a node serves its metrics."""
    return port_of_metrics(nodes.configurations[node_id])


def get(nodes: NodesInProcess, node_id: int, path: str) -> Answer:
    """Request a page of a node."""
    return ask(metrics_port(nodes, node_id), path)


def scrape(nodes: NodesInProcess, node_id: int) -> Scrape:
    """Scrape a node."""
    answer = get(nodes, node_id, "/metrics")
    assert answer.status == 200
    return Scrape(answer.body)
