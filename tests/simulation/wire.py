"""Messages as they travel: through the bytes of the wire and back, in a version that both sides know.

Most runs hand over the objects instead, which is much faster and shows the rules no less. Those that go through the
bytes show that nothing of what the rules rely on is lost on the way, and that nodes of an older Kafka can be among us.
"""

from __future__ import annotations

from collections.abc import Collection

from raft.core.messages import IncomingResponse, Request, Response, UnknownPartitionRequest
from raft.errors import LocalProtocolError
from raft.types import ZERO_UUID, NodeId
from raft.wire.apis import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH, VOTE
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request, encode_response
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.peers import api_of, request_from_wire, request_to_wire, response_from_wire, response_to_wire
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.plan import WirePlan
from tests.simulation.starting import TOPIC

_OURS = TopicPartition(topic_name=TOPIC, topic_id=ZERO_UUID)
_SIZE_BYTES = 4
_CORRELATION_ID = 7

_VERSIONS_OF_OLD = {VOTE.key: 1, BEGIN_QUORUM_EPOCH.key: 1, END_QUORUM_EPOCH.key: 1, FETCH.key: 17}
"""Those of Kafka in October 2024: before pre-votes, and before fetches that tell a high watermark."""


class Wire:
    """Translates what passes between nodes.

    Args:
        plan: whether all messages are bytes, and who is of an older version; what passes to and from those always is.

    Attributes:
        old_nodes: those that are still of that version.
    """

    def __init__(self, plan: WirePlan) -> None:
        self._is_bytes = plan.is_bytes
        self.old_nodes: Collection[NodeId] = plan.old_nodes

    def translates(self, one: NodeId, other: NodeId) -> bool:
        """Whether what these two say to each other goes through bytes."""
        return self._is_bytes or one in self.old_nodes or other in self.old_nodes

    def bring(self, request: Request, version: int) -> Request | None:
        """Return a request as it arrives; None if this version cannot say it (COMPAT-2).

        Raises:
            BrokenInvariantError: the newest version has lost something of it.
        """
        try:
            frame = encode_request(
                request_to_wire(request, _OURS, version), version, correlation_id=_CORRELATION_ID, client_id=None
            )
        except LocalProtocolError:
            return None
        received = decode_request(frame[_SIZE_BYTES:])
        assert isinstance(received, ReceivedRequest), "a version that is served"
        arrived = request_from_wire(received.message, version, _OURS)
        if version == api_of(request).versions.highest and arrived != request:
            raise BrokenInvariantError("WireLosesNothing", ("TEST-16",), f"{request} arrives as {arrived}")
        assert not isinstance(arrived, UnknownPartitionRequest), "all of them are about one partition"
        return arrived

    def bring_back(self, request: Request, response: Response, records: bytes, version: int) -> IncomingResponse:
        """Return the answer to a request as it arrives, with the records that go into it."""
        asked = request_to_wire(request, _OURS, version)
        frame = encode_response(
            response_to_wire(asked, response, records, _OURS, version), version, correlation_id=_CORRELATION_ID
        )
        return response_from_wire(decode_response(frame[_SIZE_BYTES:], api_of(request), version)[1])

    def version_between(self, one: NodeId, other: NodeId, request: Request) -> int:
        """Return the version in which one of them asks the other."""
        api = api_of(request)
        is_old = one in self.old_nodes or other in self.old_nodes
        return _VERSIONS_OF_OLD[api.key] if is_old else api.versions.highest
