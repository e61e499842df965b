"""The conditions of a run: machine, commits, versions, and what is flushed before it is acknowledged."""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import confluent_kafka

from benchmarks.checkout import Checkout
from benchmarks.contest import BASELINE, OURS
from benchmarks.results import machine
from benchmarks.servers.etcd import etcd_version

FLUSHES = {
    "this project": "three voters; an append is acknowledged once a majority has flushed it (default configuration)",
    "etcd": "three members; a put is acknowledged once a majority has flushed it (default configuration)",
    "Kafka's broker": "one replica; a record is acknowledged from the page cache, not flushed (default configuration)",
    "TestRaftServer": "three voters; followers count once they have flushed, the leader before it has (default)",
}
"""What each server flushes. All write to one disk. Source: the documentation of each; Kafka's
KafkaRaftClient.flushLeaderLog."""

NOTES = (
    "A ratio is ours / peer, of values measured in the same round; shown are the median and the range of all rounds.",
    "Many clients: each has one append in flight. Ours have one connection each; those of etcd share 8.",
    "After a fault: this project's client with its default settings; for etcd, puts that are retried after 200 ms.",
    "TestRaftServer: growth of its log, overhead of records included; of the others, bytes of values.",
    "Spark's Kafka source and sink run in the same Spark application as ours.",
)
"""How to read the table."""


def conditions(checkouts: Mapping[str, Checkout], command: Sequence[str]) -> dict[str, str]:
    """Return the conditions of a run, by name.

    Args:
        checkouts: whose code is measured, by contestant.
        command: what was run.
    """
    found = {
        "command": " ".join(command),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "commit": checkouts[OURS].commit,
        "uvloop in our voters": "yes" if importlib.util.find_spec("uvloop") else "no",
        "Spark": version("pyspark"),
        "Spark's Kafka connector": _pom_version("connector.xml"),
        "Kafka": _pom_version("pom.xml"),
        "librdkafka": confluent_kafka.libversion()[0],
        "etcd": _or_missing(etcd_version),
        "Java": _or_missing(lambda: _first_line("java", "--version")),
        "Go": _or_missing(lambda: _first_line("go", "env", "GOVERSION")),
        "pyarrow": version("pyarrow"),
        "platform": platform.platform(),
    }
    if BASELINE in checkouts:
        found["baseline commit"] = checkouts[BASELINE].commit
    return found | {f"flush: {server}": words for server, words in FLUSHES.items()}


def _or_missing(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (OSError, subprocess.CalledProcessError):
        return "missing"


def _first_line(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _pom_version(name: str) -> str:
    text = (Path(__file__).parents[1] / "scripts" / "kafka" / name).read_text()
    return text.split("<version>")[1].split("</version>")[0]
