"""What a core orders is done here, effect by effect: on the node's disk, through the post office, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    Disconnect,
    Effect,
    FlushLog,
    Halt,
    InstallSnapshot,
    Reply,
    ReportFault,
    RoleChanged,
    Send,
    ShutdownFinished,
    StoreElectionState,
    StoreSnapshotPiece,
    TruncateLog,
)
from raft.core.messages import AppendResponse, FetchResponse, FetchSnapshotRequest
from raft.core.roles import Leader
from raft.types import Epoch, NodeId
from tests.scenarios.harness import words
from tests.scenarios.harness.message import Exchange
from tests.scenarios.harness.node import Node
from tests.scenarios.harness.post_office import PostOffice
from tests.scenarios.harness.transcript import Detail, Transcript


class Hands:
    """Carries out effects, for all nodes.

    Fields:
        leaders: who became leader of which epoch, ever.
    """

    def __init__(self, post_office: PostOffice, transcript: Transcript) -> None:
        self.leaders: dict[Epoch, list[NodeId]] = {}
        self._post_office = post_office
        self._transcript = transcript

    def carry_out(self, node: Node, effect: Effect, now_ms: int) -> None:
        """Do what a node's core orders, and tell it. A flush is only noted: the world decides when it is done."""
        match effect:
            case StoreElectionState() | AppendBatches() | AppendLeaderChange() | TruncateLog() | FlushLog():
                detail, text = _write(node, effect)
                self._transcript.tell(now_ms, detail, f"{node.node_id} {text}")
            case StoreSnapshotPiece() | InstallSnapshot():
                raise AssertionError("nobody here has snapshots to give")
            case Send():
                self._send(node, effect, now_ms)
            case Reply():
                self._reply(node, effect, now_ms)
            case Disconnect(node_id=peer):
                self._transcript.tell(now_ms, Detail.EVERYTHING, f"{node.node_id} gives up waiting for {peer}")
            case RoleChanged() | ReportFault() | ShutdownFinished() | Halt():
                self._transcript.tell(now_ms, Detail.ROLES, f"{node.node_id}{self._turn(node, effect)}")
            case _:
                assert_never(effect)

    def _send(self, node: Node, order: Send, now_ms: int) -> None:
        assert not isinstance(order.request, FetchSnapshotRequest), "nobody here has snapshots to give"
        exchange = Exchange(
            asker=node.node_id,
            asker_life=node.life,
            asked=order.node_id,
            number=order.number,
            request=order.request,
        )
        self._post_office.send(exchange, now_ms)

    def _reply(self, node: Node, order: Reply, now_ms: int) -> None:
        response = order.response
        if isinstance(response, AppendResponse):
            text = f"{node.node_id} answers the append: {words.of_append_response(response)}"
            self._transcript.tell(now_ms, Detail.ROLES, text)
            return
        if order.read is not None:
            assert isinstance(response, FetchResponse), "only a fetch is answered with records"
            response = replace(response, batches=node.disk.read(order.read))
        self._post_office.answer(order.request_id, response, now_ms)

    def _turn(self, node: Node, effect: RoleChanged | ReportFault | ShutdownFinished | Halt) -> str:
        """A turn in a node's life, in words that follow its id."""
        match effect:
            case RoleChanged(old=old, new=new, reason=reason):
                if isinstance(new, Leader):
                    self.leaders.setdefault(new.epoch, []).append(node.node_id)
                before = f"{words.of_role(old)} ->" if node.has_role else "starts as"
                node.has_role = True
                return f": {before} {words.of_role(new)}: {reason}"
            case ReportFault(message=message):
                return f" reports: {message}"
            case ShutdownFinished(handed_over=handed_over):
                node.stop()
                return f" stops: {'handed over' if handed_over else 'time is over'}"
            case Halt(reason=reason):
                node.stop()
                return f" halts: {reason}"


def _write(
    node: Node, order: StoreElectionState | AppendBatches | AppendLeaderChange | TruncateLog | FlushLog
) -> tuple[Detail, str]:
    """Change what is on the node's disk; return what to tell of it."""
    match order:
        case StoreElectionState(state=state):
            node.disk.election_state = state
            return Detail.ELECTIONS, f"stores {words.of_election_state(state)}"
        case AppendBatches(batches=batches):
            node.disk.append(batches)
            return Detail.EVERYTHING, f"appends {batches[0].header.base_offset}..{batches[-1].header.end_offset}"
        case AppendLeaderChange(base_offset=base_offset, granting_voters=granting_voters):
            node.disk.append_leader_change(order)
            return (
                Detail.EVERYTHING,
                f"appends LeaderChange at {base_offset}, granted by {words.of_ids(granting_voters)}",
            )
        case TruncateLog(end_offset=end_offset):
            node.disk.truncate(end_offset)
            return Detail.ELECTIONS, f"cuts its log at {end_offset}"
        case FlushLog(end_offset=end_offset):
            node.flushes.append(order)
            detail = Detail.ELECTIONS if node.is_flush_delayed else Detail.EVERYTHING
            return detail, f"{'waits for a flush' if node.is_flush_delayed else 'flushes'} up to {end_offset}"
