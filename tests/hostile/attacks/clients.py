"""What a client with a name is not allowed to do: speak as a node, go on after its session, take another name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from raft.codec import Message
from raft.errors import ErrorCode
from raft.types import Endpoint
from raft.wire.apis import VOTE
from raft.wire.frames import decode_response
from raft.wire.messages import vote
from tests.hostile.attacks.attack import Attack
from tests.hostile.attacks.snapshots import snapshot_request
from tests.hostile.attacks.voters import forged
from tests.hostile.connection import Connection
from tests.hostile.identity import HONEST, NEIGHBOUR
from tests.hostile.scene import SESSION_MS, SNAPSHOT
from tests.hostile.scram import ScramProof
from tests.hostile.ways import prove
from tests.node.harness.keys import password_of
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import fetch_request

_MOST_NAMES = 900
_REPETITIONS = 10
_PROOFS = 20


class ClientsAsVoters(Attack):
    """Requests in voters' names on the listener for voters, from a client whose certificate the nodes trust."""

    width = 6
    counted: ClassVar[tuple[str, ...]] = ("refused",)

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.voter_endpoints)

    async def round(self, connection: Connection) -> None:
        epoch = self.scene.leader_epoch + self.dice.choice((-1, 0, 1, 100))
        for request, version in forged(self.dice.choice(list(self.scene.client_ports)), epoch):
            await connection.ask(request, version)
        voting, version = next(forged(1, self.scene.leader_epoch + 1))
        response = decode_response(await connection.ask(voting, version), VOTE, version)[1]
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"a client may vote: {response}"


class ManyNames(ClientsAsVoters):
    """Votes in the names of many nodes at once, and in other ones each time: the log names those that are refused."""

    width = 4

    async def round(self, connection: Connection) -> None:
        for _ in range(5):
            await connection.ask(self._vote(), 1)

    def _vote(self) -> vote.VoteRequest:
        partitions = tuple(
            vote.VoteRequestPartition(
                partition_index=0,
                replica_epoch=1,
                replica_id=self.dice.randrange(1 << 31),
                last_offset_epoch=0,
                last_offset=0,
            )
            for _ in range(_MOST_NAMES)
        )
        topics = (vote.VoteRequestTopic(topic_name=TOPIC, partitions=partitions),)
        return vote.VoteRequest(cluster_id=CLUSTER_ID, topics=topics)


class ForbiddenRequests(Attack):
    """Series of requests that no rule allows, on the listener for clients."""

    width = 10
    counted: ClassVar[tuple[str, ...]] = ("refused",)

    async def round(self, connection: Connection) -> None:
        requests = [*self._requests()] * self.dice.choice((1, _REPETITIONS))
        for request, version in requests:
            await connection.send_request(request, version)
        for _ in requests:
            await connection.frame()

    def _requests(self) -> Iterator[tuple[Message, int]]:
        epoch, node_id = self.scene.leader_epoch, self.dice.randrange(1_000, 1 << 31)
        yield replace(fetch_request(0, epoch=epoch, last_fetched_epoch=epoch), replica_id=node_id), 12
        yield snapshot_request(replica_id=node_id, epoch=epoch, snapshot=SNAPSHOT, position=0), 1
        yield from forged(self.dice.choice((1, node_id)), epoch + 1)


class ExpiredSessions(Attack):
    """Requests after the end of the session."""

    width = 20
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("expired",)

    async def round(self, connection: Connection) -> None:
        received_bytes = connection.received_bytes
        await asyncio.sleep(SESSION_MS / 1000)
        await connection.send_request(fetch_request(0), 12)
        await connection.must_close("a session goes on after its end")
        assert connection.received_bytes == received_bytes, "a request after the session gets a response"


class ProofsInSeries(Attack):
    """Right proofs, one after the other on each connection."""

    width = 5

    async def round(self, connection: Connection) -> None:
        for _ in range(_PROOFS):
            proof = ScramProof(NEIGHBOUR, password_of(NEIGHBOUR), self.ways.nonce())
            response = await prove(connection, proof)
            assert not response.error_code, f"a right proof is refused: {response.error_message}"


class OtherNames(Attack):
    """A proof of another user's name, on a connection that has a name."""

    width = 5
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed",)

    async def round(self, connection: Connection) -> None:
        # The password is right: it is the name that must not change.
        response = await prove(connection, ScramProof(HONEST, password_of(HONEST), self.ways.nonce()))
        assert response.error_code, "a client has taken another name"
        await connection.must_close("a connection goes on under two names")
