"""The number of requests for a micro-batch: one to plan it, and one for each task that reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from datasource import clients
from datasource.options import ReadOptions
from datasource.range_reader import read_range
from datasource.read_plan import LogRange
from datasource.stream_reader import KraftStreamReader
from raft.client import Client, ClientSettings
from raft.config.endpoints import listeners
from raft.errors import ConfigError
from raft.types import Epoch, Offset
from raft.wire.apis import FETCH, METADATA, OFFSET_FOR_LEADER_EPOCH
from tests.network.produce_proxy import ProduceProxy
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties


class Triggers:
    """A streaming read as Spark carries it out: each trigger plans a batch, and reads it if it holds anything."""

    def __init__(self, proxy: ProduceProxy, **options: str) -> None:
        self._proxy = proxy
        self._reader = KraftStreamReader(ReadOptions.of({"kraft.bootstrap.servers": str(proxy.endpoint), **options}))
        self._offset: dict[str, Any] = self._reader.initialOffset()

    def requests(self) -> tuple[list[bytes], list[int]]:
        """Carry out a trigger; return the values that it read, and the API keys of its requests."""
        before = len(self._proxy.api_keys)
        start, limit = self._offset, ReadAllAvailable()
        self._offset = self._reader.latestOffset(start, limit)
        values: list[bytes] = []
        if self._offset != start:
            for partition in self._reader.partitions(start, self._offset):
                for record_batch in self._reader.read(partition):
                    values += record_batch.column("value").to_pylist()
        return values, self._proxy.api_keys[before:]

    def stop(self) -> None:
        self._reader.stop()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[ProduceProxy]:
    """Every request for the leader."""
    configurations = voters_properties(tmp_path, voters=1)
    (listener,) = listeners("listeners", configurations[1]["listeners"])
    with ProduceProxy(listener, lambda _: True) as proxy:
        configurations[1]["advertised.listeners"] = f"CONTROLLER://{proxy.endpoint}"
        with NodesInProcess(configurations) as nodes:
            nodes.start().wait_for_leader()
            yield proxy
    for client in clients._clients.values():
        client.close()
    clients._clients.clear()


@pytest.fixture
def writer(proxy: ProduceProxy) -> Iterator[Client]:
    with Client(ClientSettings(bootstrap_servers=(proxy.endpoint,))) as client:
        yield client


def test_trigger_sends_one_request_when_nothing_is_new_and_two_otherwise(proxy: ProduceProxy, writer: Client) -> None:
    triggers = Triggers(proxy, startingOffsets="earliest")
    writer.append(batch_of(b"first"))
    values, _requests = triggers.requests()
    assert values == [b"first"]

    assert triggers.requests() == ([], [OFFSET_FOR_LEADER_EPOCH.key])

    for value in (b"second", b"third"):
        writer.append(batch_of(value))
        assert triggers.requests() == ([value], [OFFSET_FOR_LEADER_EPOCH.key, FETCH.key])

    assert triggers.requests() == ([], [OFFSET_FOR_LEADER_EPOCH.key])
    triggers.stop()


def read(proxy: ProduceProxy, *, cluster_id: str | None, epoch: Epoch) -> list[int]:
    """Read the first data record as a task does; return the API keys of its requests."""
    before = len(proxy.api_keys)
    options = ReadOptions.of({"kraft.bootstrap.servers": str(proxy.endpoint)})
    log_range = LogRange(start_offset=Offset(1), end_offset=Offset(2), cluster_id=cluster_id or "", epoch=epoch)
    (record_batch,) = read_range(options, log_range)
    assert record_batch.column("value").to_pylist() == [b"first"]
    return proxy.api_keys[before:]


def test_task_looks_for_the_leader_again_when_its_range_is_of_an_epoch_before_the_one_it_knows(
    proxy: ProduceProxy, writer: Client
) -> None:
    writer.append(batch_of(b"first"))
    read(proxy, cluster_id=writer.cluster_id, epoch=writer.epoch)

    assert read(proxy, cluster_id=writer.cluster_id, epoch=writer.epoch) == [FETCH.key]
    assert read(proxy, cluster_id=writer.cluster_id, epoch=Epoch(0)) == [METADATA.key, FETCH.key]


def test_task_refuses_the_quorum_when_its_range_is_of_another_cluster(proxy: ProduceProxy, writer: Client) -> None:
    writer.append(batch_of(b"first"))
    read(proxy, cluster_id=writer.cluster_id, epoch=writer.epoch)

    with pytest.raises(ConfigError, match="cluster id"):
        read(proxy, cluster_id="another", epoch=writer.epoch)
