"""A client reads from nodes that do not lead: real nodes, three voters and an observer, each in a rack of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from datasource.options import ReadOptions
from datasource.range_reader import read_range
from datasource.read_plan import LogRange
from raft.client import Client, Fetched, ReadFrom
from raft.errors import ErrorCode, OffsetOutOfRangeError
from raft.local.ports import free_ports
from raft.records.batches import read_batches
from raft.types import Endpoint, Offset
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import node_properties, voters_properties
from tests.node.harness.transactional_producer import TransactionalProducer
from tests.node.harness.waiting import eventually

OBSERVER = 9


@contextmanager
def nodes_in_racks(folder: Path) -> Iterator[NodesInProcess]:
    configurations = voters_properties(folder)
    (port,) = free_ports(1)
    voters = configurations[1]["controller.quorum.voters"]
    configurations[OBSERVER] = node_properties(
        folder / "observer", node_id=OBSERVER, port=port, controller__quorum__voters=voters
    )
    for node_id, properties in configurations.items():
        properties["broker.rack"] = f"rack-{node_id}"
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """Nodes with a log of committed, aborted and plain records."""
    with nodes_in_racks(tmp_path_factory.mktemp("quorum")) as nodes:
        with nodes.client() as client:
            for value in (b"a", b"b"):
                client.append(batch_of(value))
        with nodes.wire(nodes.wait_for_leader()) as wire:
            aborting = TransactionalProducer(wire, "aborts")
            aborting.send(b"aborted")
            assert aborting.end(commit=False) == ErrorCode.NONE
            committing = TransactionalProducer(wire, "commits")
            committing.send(b"committed")
            assert committing.end(commit=True) == ErrorCode.NONE
        yield nodes


@contextmanager
def reading(nodes: NodesInProcess, read_from: ReadFrom, rack: int | None = None) -> Iterator[Client]:
    with nodes.client() as client:
        settings = replace(
            client.settings,
            read_from=read_from,
            rack=None if rack is None else f"rack-{rack}",
            api_timeout_ms=40_000,
            # Long enough for a busy machine: a reader that takes half of it is left.
            request_timeout_ms=20_000,
        )
    with Client(settings) as client:
        yield client


def wait_for_end(nodes: NodesInProcess, *node_ids: int) -> None:
    """Wait until nodes know that everything in the leader's log is committed."""
    leader = nodes.running[nodes.wait_for_leader()].core
    eventually(
        lambda: all(nodes.running[node_id].core.high_watermark == leader.log.end_offset for node_id in node_ids),
        f"nodes {node_ids} are caught up",
    )


def read_all(client: Client) -> list[Fetched]:
    """Everything, a batch at a time."""
    found: list[Fetched] = []
    offset, end = client.log_start_offset(), client.last_stable_offset()
    while offset < end:
        found.append(client.fetch(offset, max_bytes=1))
        offset = list(read_batches(found[-1].records))[-1].header.end_offset
    return found


def followers(nodes: NodesInProcess) -> list[int]:
    leader = nodes.wait_for_leader()
    return [node_id for node_id in nodes.configurations if node_id != leader]


@pytest.mark.rule("READ-4", "TXN-10")
def test_every_node_serves_the_records_of_the_leader(quorum: NodesInProcess) -> None:
    wait_for_end(quorum, *quorum.configurations)
    with reading(quorum, ReadFrom.LEADER) as client:
        of_leader = read_all(client)
    assert any(fetched.aborted for fetched in of_leader)

    for node_id in followers(quorum):
        with reading(quorum, ReadFrom.NEAREST, rack=node_id) as client:
            found = read_all(client)

        assert {fetched.reader for fetched in found} == {plain(quorum.endpoint(node_id))}
        assert [(each.records, each.aborted) for each in found] == [(each.records, each.aborted) for each in of_leader]


def plain(endpoint: Endpoint) -> Endpoint:
    """The endpoint as clients know it, without the name of the listener."""
    return Endpoint(endpoint.host, endpoint.port)


@pytest.mark.rule("READ-4")
def test_clients_of_the_leaders_rack_read_from_the_leader(quorum: NodesInProcess) -> None:
    with reading(quorum, ReadFrom.NEAREST, rack=quorum.wait_for_leader()) as client:
        assert {fetched.reader for fetched in read_all(client)} == {None}


@pytest.mark.rule("READ-4")
def test_any_node_but_the_leader_is_read_from(quorum: NodesInProcess) -> None:
    wait_for_end(quorum, *quorum.configurations)
    with reading(quorum, ReadFrom.ANY) as client:
        readers = {fetched.reader for fetched in read_all(client)}

    assert len(readers) == 1
    assert readers <= {plain(quorum.endpoint(node_id)) for node_id in followers(quorum)}


@pytest.mark.parametrize("reader", ["a voter", "the observer"])
@pytest.mark.rule("READ-5")
def test_record_is_found_right_after_its_append_though_followers_learn_of_it_later(
    quorum: NodesInProcess, reader: str
) -> None:
    rack = OBSERVER if reader == "the observer" else next(each for each in followers(quorum) if each != OBSERVER)
    with reading(quorum, ReadFrom.NEAREST, rack=rack) as client:
        for number in range(20):
            value = b"%s %d" % (reader.encode(), number)
            appended = client.append(batch_of(value))

            found = client.fetch(appended.base_offset, max_wait_ms=0)

            assert found.records, f"the record at {appended.base_offset} is committed"
            batch, *_ = read_batches(found.records)
            assert batch.header.base_offset == appended.base_offset


@pytest.mark.rule("READ-5")
def test_offset_behind_the_end_is_out_of_range_by_the_leaders_word(quorum: NodesInProcess) -> None:
    with reading(quorum, ReadFrom.ANY) as client:
        end = client.last_stable_offset()
        with pytest.raises(OffsetOutOfRangeError) as refused:
            client.fetch(Offset(end + 1_000), max_wait_ms=0)

    assert refused.value.high_watermark is not None
    assert refused.value.high_watermark >= end


@pytest.mark.rule("READ-4", "READ-5")
def test_reads_continue_when_the_reader_and_then_the_leader_ends(tmp_path: Path) -> None:
    with nodes_in_racks(tmp_path) as nodes:
        with nodes.client() as client:
            first = client.append(batch_of(b"first"))
        wait_for_end(nodes, *nodes.configurations)
        with reading(nodes, ReadFrom.ANY) as client:
            reader = client.fetch(first.base_offset).reader
            assert reader is not None
            (ended,) = [each for each in nodes.running if plain(nodes.endpoint(each)) == reader]
            nodes.stop(ended)

            another = client.fetch(first.base_offset)
            assert another.records
            assert another.reader != reader

            nodes.start(ended)
            leader = nodes.wait_for_leader()
            nodes.stop(leader)
            assert client.fetch(first.base_offset).records, "no leader is needed to read what is known to be there"
            second = client.append(batch_of(b"second"))
            assert client.fetch(second.base_offset).records
            assert client.last_stable_offset() > second.base_offset


@pytest.mark.rule("READ-4")
def test_end_of_the_log_is_the_leaders_while_a_follower_lags(tmp_path: Path) -> None:
    with nodes_in_racks(tmp_path) as nodes:
        lagging = next(each for each in followers(nodes) if each != OBSERVER)
        wait_for_end(nodes, *nodes.configurations)
        with nodes.slow_disk(lagging), reading(nodes, ReadFrom.NEAREST, rack=lagging) as client:
            appended = client.append(batch_of(b"not flushed by the follower"))

            assert client.last_stable_offset() == appended.base_offset + 1
            assert client.fetch(appended.base_offset).records


MEBIBYTE = 1 << 20


@pytest.mark.rule("LOG-30", "READ-4", "READ-6", "READ-9")
def test_rows_are_read_from_the_leader_when_the_disk_of_the_reader_has_damaged_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    values = [b"%d" % number * MEBIBYTE for number in range(6)]
    with nodes_in_racks(tmp_path) as nodes:
        with nodes.client() as client:
            first, *_ = [client.append(batch_of(value)) for value in values]
            cluster_id, epoch, end = client.cluster_id, client.epoch, client.last_stable_offset()
        wait_for_end(nodes, *nodes.configurations)
        (segment,) = (tmp_path / "observer").glob("*-0/*.log")
        # The newest bytes of a log are in memory, the first of these records is not.
        damage(segment, at_byte=MEBIBYTE // 2)
        options = ReadOptions.of(
            {
                "kraft.bootstrap.servers": ",".join(str(plain(nodes.endpoint(each))) for each in nodes.configurations),
                "kraft.read.from": "nearest",
                "kraft.client.rack": f"rack-{OBSERVER}",
            }
        )
        log_range = LogRange(start_offset=first.base_offset, end_offset=end, cluster_id=cluster_id or "", epoch=epoch)

        record_batches = list(read_range(options, log_range))

    assert [value for each in record_batches for value in each.column("value").to_pylist()] == values
    (error,) = [record.getMessage() for record in caplog.records if "damaged" in record.getMessage()]
    assert error.startswith(f"the log is damaged, although it was flushed: {segment} is damaged at byte")


def damage(path: Path, *, at_byte: int) -> None:
    with path.open("r+b") as file:
        file.seek(at_byte)
        (byte,) = file.read(1)
        file.seek(at_byte)
        file.write(bytes([byte ^ 1]))
