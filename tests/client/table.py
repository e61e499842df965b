"""A quorum without sockets: a table of each node's responses, and a clock that only the session's steps move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, assert_never

from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings, ReadFrom
from raft.client.steps import Ask, Await, GiveUp, Operation, Pause, Reply, Step
from raft.codec import Message
from raft.types import Endpoint, Epoch, Uuid
from raft.wire.features import FEATURE_NAME, WRITES_LEVEL
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeature
from raft.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

Result = TypeVar("Result")

CLUSTER_ID = "kq5mZl0zT0uJwXUxQKo9gQ"
TOPIC = "__cluster_metadata"
TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
PLACES = {node_id: Endpoint(f"node{node_id}", 9090 + node_id) for node_id in (1, 2, 3)}
RESPONSE_MS = 1


@dataclass(frozen=True, slots=True)
class Late:
    """A response that comes `after_ms`."""

    response: Message
    after_ms: int


@dataclass(frozen=True, slots=True)
class Refused:
    """No connection could be opened, and why."""

    reason: str


Response = Message | Late | Refused | str | None
"""A response; a late one; no connection; why there is none, in words; None for no response before the timeout."""

Node = Callable[[Message], Response]


@dataclass(frozen=True, slots=True)
class InFlight:
    """A request without its response.

    Fields:
        response: what will come; None for nothing.
        due_ms: when it comes, or when the request times out.
    """

    response: Message | None
    due_ms: int


class Table:
    """Carries out the steps of a session.

    Args:
        nodes: the node at each address; at other addresses, connections are refused.

    Attributes:
        asked: the requests of the session, in order, and `asked_at_ms`, when each was sent.
        given_up: the addresses whose request in flight the session gave up, in order.
    """

    def __init__(self, nodes: Mapping[Endpoint, Node]) -> None:
        self.nodes = dict(nodes)
        self.now_ms = 5_000
        self.asked: list[Ask] = []
        self.asked_at_ms: list[int] = []
        self.given_up: list[Endpoint] = []
        self.pauses_ms: list[int] = []
        self._in_flight: dict[Endpoint, InFlight] = {}

    @property
    def places_asked(self) -> list[Endpoint]:
        """The nodes that the session has sent requests to, in order."""
        return [ask.endpoint for ask in self.asked]

    def run(self, operation: Operation[Result]) -> Result:
        """Carry out a call to its end."""
        try:
            step = next(operation)
            while True:
                step = operation.send(self._carry_out(step))
        except StopIteration as end:
            result: Result = end.value
            return result

    def deadline(self, timeout_ms: int = 10_000) -> Deadline:
        """From now on."""
        return Deadline(started_ms=self.now_ms, timeout_ms=timeout_ms)

    def _carry_out(self, step: Step) -> Reply:
        match step:
            case Pause():
                self.pauses_ms.append(step.duration_ms)
                self.now_ms += step.duration_ms
                return Reply(now_ms=self.now_ms)
            case Ask():
                return self._ask(step)
            case Await():
                return self._await(step.endpoint, step.patience_ms)
            case GiveUp():
                del self._in_flight[step.endpoint]
                self.given_up.append(step.endpoint)
                return Reply(now_ms=self.now_ms)
            case _:
                assert_never(step)

    def _ask(self, step: Ask) -> Reply:
        assert step.endpoint not in self._in_flight, f"a request to {step.endpoint} is in flight already"
        node = self.nodes.get(step.endpoint)
        response = node(step.request) if node is not None else Refused("Connection refused")
        if isinstance(response, ApiVersionsResponse):
            return Reply(now_ms=self.now_ms, response=response)  # A driver knows it since the connection was opened.
        self.asked.append(step)
        self.asked_at_ms.append(self.now_ms)
        if response is None or isinstance(response, Late):
            timeout_ms = self.now_ms + step.timeout_ms
            due = (None, timeout_ms) if response is None else (response.response, self.now_ms + response.after_ms)
            self._in_flight[step.endpoint] = InFlight(*due if due[1] < timeout_ms else (None, timeout_ms))
            return self._await(step.endpoint, step.timeout_ms if step.patience_ms is None else step.patience_ms)
        self.now_ms += RESPONSE_MS
        if isinstance(response, Refused):
            return Reply(now_ms=self.now_ms, failure=response.reason, is_connected=False)
        if isinstance(response, str):
            return Reply(now_ms=self.now_ms, failure=response)
        return Reply(now_ms=self.now_ms, response=response)

    def _await(self, endpoint: Endpoint, patience_ms: int) -> Reply:
        request = self._in_flight[endpoint]
        if self.now_ms + patience_ms < request.due_ms:
            self.now_ms += patience_ms
            return Reply(now_ms=self.now_ms, is_pending=True)
        self.now_ms = max(self.now_ms, request.due_ms)
        del self._in_flight[endpoint]
        if request.response is None:
            return Reply(now_ms=self.now_ms, failure="no response in time")
        return Reply(now_ms=self.now_ms, response=request.response)


def session(
    *servers: int,
    epoch: int = 0,
    cluster_id: str | None = None,
    topic: str | None = None,
    request_timeout_ms: int = 1_000,
    read_from: ReadFrom = ReadFrom.LEADER,
    rack: str | None = None,
    turn: int = 0,
) -> Session:
    """A session with the addresses of these nodes as bootstrap servers; by default that of node 1."""
    settings = ClientSettings(
        bootstrap_servers=tuple(PLACES[server] for server in servers or (1,)),
        cluster_id=cluster_id,
        topic=topic,
        request_timeout_ms=request_timeout_ms,
        retry_backoff_ms=50,
        read_from=read_from,
        rack=rack,
    )
    return Session(settings, epoch=Epoch(epoch), turn=turn)


def metadata(
    leader: int | None = 1,
    *,
    epoch: int = 3,
    nodes: tuple[int, ...] = (1, 2, 3),
    cluster_id: str | None = CLUSTER_ID,
    topics: tuple[str, ...] = (TOPIC,),
    has_partitions: bool = True,
    racks: Mapping[int, str] = {},
) -> MetadataResponse:
    """A node's Metadata response about the leader."""
    partition = MetadataResponsePartition(
        error_code=0 if leader is not None else 5,
        partition_index=0,
        leader_id=-1 if leader is None else leader,
        leader_epoch=epoch,
        replica_nodes=nodes,
        isr_nodes=nodes,
    )
    return MetadataResponse(
        brokers=tuple(
            MetadataResponseBroker(node_id=node, host=PLACES[node].host, port=PLACES[node].port, rack=racks.get(node))
            for node in nodes
        ),
        cluster_id=cluster_id,
        topics=tuple(
            MetadataResponseTopic(
                error_code=0, name=name, topic_id=TOPIC_ID, partitions=(partition,) if has_partitions else ()
            )
            for name in topics
        ),
    )


OUR_VERSIONS = ApiVersionsResponse(
    error_code=0,
    api_keys=(),
    supported_features=(SupportedFeature(name=FEATURE_NAME, min_version=0, max_version=WRITES_LEVEL),),
)


def node(
    *responses: Response, knows: Response | list[Response] = None, serves: ApiVersionsResponse = OUR_VERSIONS
) -> Node:
    """A node that responds to Metadata with `knows`, and to other requests with `responses`; the last one repeats."""
    left = list(responses)
    known = knows if isinstance(knows, list) else [knows if knows is not None else metadata()]

    def response(request: Message) -> Response:
        if isinstance(request, ApiVersionsRequest):
            return serves
        if isinstance(request, MetadataRequest):
            return known.pop(0) if len(known) > 1 else known[0]
        return left.pop(0) if len(left) > 1 else left[0]

    return response


def leader_alone(*responses: Response, epoch: int = 3) -> Table:
    """A quorum in which node 1 leads and responds; the others refuse connections."""
    return Table({PLACES[1]: node(*responses, knows=metadata(1, epoch=epoch))})
