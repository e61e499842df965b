"""A listener for voters and one for clients: which requests each accepts, and which endpoints its responses have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from raft.client import Client, ClientSettings
from raft.codec import Message
from raft.config import NodeConfig
from raft.errors import ErrorCode
from raft.local.ports import free_ports
from raft.node.voter_addresses import VoterAddresses
from raft.security.operations import Operation
from raft.types import ZERO_UUID, Endpoint, NodeId
from raft.wire.messages import begin_quorum_epoch as begin
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages import end_quorum_epoch as end
from raft.wire.messages import fetch_snapshot as snapshot
from raft.wire.messages import update_raft_voter as update
from raft.wire.messages import vote
from raft.wire.messages.fetch import FetchResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, TOPIC, voters_properties, with_client_listeners
from tests.node.harness.requests import fetch_request, fetched, produce_request, produced
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
HIGH_EPOCH = 99

_VOTE = vote.VoteRequestPartition(
    partition_index=0,
    replica_epoch=HIGH_EPOCH,
    replica_id=2,
    last_offset_epoch=HIGH_EPOCH - 1,
    last_offset=1000,
)
VOTE = vote.VoteRequest(cluster_id=CLUSTER_ID, topics=(vote.VoteRequestTopic(topic_name=TOPIC, partitions=(_VOTE,)),))
_BEGIN = begin.BeginQuorumEpochRequestPartition(partition_index=0, leader_id=1, leader_epoch=HIGH_EPOCH)
BEGIN = begin.BeginQuorumEpochRequest(
    cluster_id=CLUSTER_ID, topics=(begin.BeginQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(_BEGIN,)),)
)
_END = end.EndQuorumEpochRequestPartition(partition_index=0, leader_id=1, leader_epoch=HIGH_EPOCH)
END = end.EndQuorumEpochRequest(
    cluster_id=CLUSTER_ID, topics=(end.EndQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(_END,)),)
)
SNAPSHOT = snapshot.FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=2, topics=())
UPDATE = update.UpdateRaftVoterRequest(
    cluster_id=CLUSTER_ID,
    current_leader_epoch=1,
    voter_id=2,
    voter_directory_id=ZERO_UUID,
    listeners=(),
    kraft_version_feature=update.KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
)
FETCH = replace(fetch_request(0, epoch=1), replica_id=2)


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    directory = tmp_path_factory.mktemp("trio")
    with NodesInProcess(with_client_listeners(voters_properties(directory, voters=3))) as nodes:
        nodes.start().wait_for_leader()
        # Followers get the first high watermark a little later than the leader has it (LINGER-1).
        cores = [node.core for node in nodes.running.values()]
        eventually(lambda: all(core.high_watermark for core in cores), "all nodes know what is committed")
        yield nodes


def for_voters(nodes: NodesInProcess, node_id: int) -> Endpoint:
    return nodes.endpoint(node_id)


def for_clients(nodes: NodesInProcess, node_id: int) -> Endpoint:
    (listener,) = NodeConfig.from_properties(nodes.configurations[node_id]).client_listeners
    return listener.listener


def refused_as_peer(nodes: NodesInProcess) -> int:
    return nodes.running[1].parts.replica.context.unauthorized[Operation.PEER]


def state_of(nodes: NodesInProcess) -> list[object]:
    return [(node.core.epoch, node.core.leader_id, node.core.high_watermark) for node in nodes.running.values()]


@pytest.mark.parametrize(
    ("request_", "version", "response"),
    [
        pytest.param(VOTE, 1, vote.VoteResponse, id="Vote"),
        pytest.param(BEGIN, 0, begin.BeginQuorumEpochResponse, id="BeginQuorumEpoch"),
        pytest.param(END, 0, end.EndQuorumEpochResponse, id="EndQuorumEpoch"),
        pytest.param(SNAPSHOT, 0, snapshot.FetchSnapshotResponse, id="FetchSnapshot"),
        pytest.param(UPDATE, 0, update.UpdateRaftVoterResponse, id="UpdateRaftVoter"),
        pytest.param(FETCH, 12, FetchResponse, id="Fetch"),
    ],
)
@pytest.mark.rule("CALLER-1")
def test_request_in_a_voters_name_is_refused_on_the_listener_for_clients(
    trio: NodesInProcess, request_: Message, version: int, response: type[Message]
) -> None:
    before, counted_before = state_of(trio), refused_as_peer(trio)

    with Wire(for_clients(trio, 1)) as wire:
        refusal = wire.ask(request_, version, response)

    assert getattr(refusal, "error_code", None) == REFUSED
    assert state_of(trio) == before
    assert refused_as_peer(trio) == counted_before + 1


@pytest.mark.rule("CALLER-1")
def test_observer_may_fetch_on_the_listener_for_clients(trio: NodesInProcess) -> None:
    leader = trio.wait_for_leader()
    epoch = trio.running[leader].core.epoch
    request = replace(fetch_request(0, epoch=epoch, last_fetched_epoch=0), replica_id=9)

    with Wire(for_clients(trio, leader)) as wire:
        response = wire.ask(request, 12, FetchResponse)

    assert fetched(response).error_code == ErrorCode.NONE


@pytest.mark.parametrize("listener_of", [for_voters, for_clients])
def test_nodes_have_the_endpoints_of_the_listener_that_received_the_request(
    trio: NodesInProcess, listener_of: Callable[[NodesInProcess, int], Endpoint]
) -> None:
    expected = {node_id: listener_of(trio, node_id) for node_id in trio.running}
    partition = quorum.DescribeQuorumRequestPartition(partition_index=0)
    topic = quorum.DescribeQuorumRequestTopic(topic_name=TOPIC, partitions=(partition,))
    for node_id in trio.running:  # The leader responds itself; the others forward the request.
        with Wire(listener_of(trio, node_id)) as wire:
            metadata = wire.ask(MetadataRequest(topics=None), 9, MetadataResponse)
            described = wire.ask(quorum.DescribeQuorumRequest(topics=(topic,)), 2, quorum.DescribeQuorumResponse)

        assert {each.node_id: (each.host, each.port) for each in metadata.brokers} == {
            number: (endpoint.host, endpoint.port) for number, endpoint in expected.items()
        }
        assert {node.node_id: (each.name, each.port) for node in described.nodes for each in node.listeners} == {
            number: (endpoint.name, endpoint.port) for number, endpoint in expected.items()
        }


def test_follower_names_the_leaders_listener_for_clients(trio: NodesInProcess) -> None:
    leader = trio.wait_for_leader()
    follower = next(node_id for node_id in trio.running if node_id != leader)

    with Wire(for_clients(trio, follower)) as wire:
        refused = wire.ask(produce_request(batch_of(b"x")), 10, ProduceResponse)

    assert produced(refused).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [(each.node_id, each.port) for each in refused.node_endpoints] == [(leader, for_clients(trio, leader).port)]


def test_client_works_with_nothing_but_the_listeners_for_clients(trio: NodesInProcess) -> None:
    follower = next(node_id for node_id in trio.running if node_id != trio.wait_for_leader())
    settings = ClientSettings(bootstrap_servers=(for_clients(trio, follower),))

    with Client(settings) as client:
        appended = client.append(batch_of(b"x"))

        assert client.last_stable_offset() > appended.base_offset
        assert {endpoint.port for endpoint in client._driver.transports} <= {
            for_clients(trio, node_id).port for node_id in trio.running
        }


@pytest.mark.rule("CALLER-2")
def test_voters_request_from_another_address_is_dropped_and_counts_for_nothing(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=1, raft__voters__verify__address="true")
    # The other voter is at an address of loopback that no request of this test comes from.
    configurations[1]["controller.quorum.voters"] += f",2@127.0.0.77:{free_ports(1)[0]}"
    with NodesInProcess(configurations) as nodes:
        nodes.start()
        with nodes.wire(1) as wire:
            wire.send(VOTE, 1)

            assert wire.is_closed_by_node()

        assert nodes.running[1].core.epoch < HIGH_EPOCH


@pytest.mark.rule("CALLER-2")
def test_voters_at_their_addresses_form_a_quorum(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=3, raft__voters__verify__address="true")
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()

        with nodes.client() as client:
            client.append(batch_of(b"x"))


class Resolver(asyncio.SelectorEventLoop):
    """A loop whose names have the addresses that a test says, look-up by look-up."""

    results: list[str | OSError]

    async def getaddrinfo(self, *_args: object, **_kwargs: object) -> list[object]:  # type: ignore[override]
        response = self.results.pop(0)
        if isinstance(response, OSError):
            raise response
        return [(2, 1, 6, "", (response, 9093))]


def test_last_addresses_count_while_a_host_cannot_be_resolved() -> None:
    async def play() -> list[tuple[bool, bool]]:
        addresses = VoterAddresses({NodeId(1): Endpoint("one", 9093)})
        await addresses.open()
        seen = []
        for _ in range(3):
            seen.append((addresses.has(NodeId(1), "10.0.0.1"), addresses.has(NodeId(1), "10.0.0.2")))
            if Resolver.results:
                await addresses._resolve()
        await addresses.close()
        return seen

    Resolver.results = ["10.0.0.1", OSError("the name server is down"), "10.0.0.2"]
    with asyncio.Runner(loop_factory=Resolver) as runner:
        assert runner.run(play()) == [(True, False), (True, False), (False, True)]
