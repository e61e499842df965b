"""One run: honest clients append, first alone, then beside the neighbour; then judgement."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from raft.client import Client
from raft.errors import RaftError
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from tests.hostile.appender import Appender
from tests.hostile.committed import values_of
from tests.hostile.neighbour import Neighbour
from tests.hostile.outcome import Outcome
from tests.hostile.phase import Phase
from tests.hostile.quorum import QUEUED_MAX_REQUEST_BYTES, Quorum, running_quorum
from tests.hostile.verdict import complaints, history_complaints
from tests.node.harness.batches import batch_of
from tests.soak.history import History, now_ns
from tests.soak.replicas import Replica, differences

ALLOWANCE_BYTES = 3 * QUEUED_MAX_REQUEST_BYTES + 2 * DEFAULT_MAX_DECOMPRESSED_BYTES
"""Memory that the limits of a node let strangers take for a while, however small the node is otherwise:
`queued.max.request.bytes` of requests that are under way, of large frames that have come in part, and of answers; and
a decompressed batch on each of the two threads that read records, one that admits them and one that searches them."""

_FILLING_BYTES = 1 << 20
_FILLINGS = 12
"""So much is in the log before, for readers of 8 MiB."""

_LONGEST_CALL_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is to be.

    Fields:
        seed: what the neighbour does.
        duration_s: of each of the two phases.
        clients: how many append.
        attacks: names of those that are played; empty for all.
    """

    seed: int
    duration_s: float
    clients: int = 4
    attacks: Sequence[str] = ()


def run(plan: Plan, folder: Path) -> Outcome:
    """Do it, and leave in `folder` what the nodes have written and said.

    Raises:
        AssertionError, RaftError: the quorum or the attacker does not work at all.
    """
    names = tuple(f"honest{number}" for number in range(plan.clients))
    history = History()
    with running_quorum(folder) as quorum:
        _fill(quorum)
        outcome = _phases(plan, quorum, history, names)
        wrong = [*history.complaints]
        try:
            quorum.settle()
        except (AssertionError, RaftError) as error:
            wrong.append(f"the quorum does not come to rest: {error}")
        wrong += quorum.complaints()
        quorum.kill()
        replicas = {node_id: Replica.read(node.log_dir) for node_id, node in quorum.nodes.items()}
    wrong += differences(replicas)
    newest = max(replicas.values(), key=lambda replica: replica.end)
    wrong += history_complaints(history.appends, values_of(newest, names))
    wrong += complaints(outcome, allowance_bytes=ALLOWANCE_BYTES)
    return replace(outcome, wrong=wrong)


def _phases(plan: Plan, quorum: Quorum, history: History, names: Sequence[str]) -> Outcome:
    begin = quorum.look()
    with _appending([Appender(name, history, quorum.honest_settings) for name in names]):
        quiet_begin_ns = now_ns()
        time.sleep(plan.duration_s)
        quiet_end_ns = now_ns()
        quiet_end = quorum.look()
        scene = quorum.scene(quiet_end.leader[0])
        with Neighbour(scene, seed=plan.seed, duration_s=plan.duration_s, attacks=plan.attacks) as neighbour:
            neighbour.wait_until_it_begins()
            hostile_begin_ns = now_ns()
            tally = neighbour.tally()
            hostile_end_ns = now_ns()
    return Outcome(
        quiet=Phase.of(history.appends, begin_ns=quiet_begin_ns, end_ns=quiet_end_ns),
        hostile=Phase.of(history.appends, begin_ns=hostile_begin_ns, end_ns=hostile_end_ns),
        begin=begin,
        quiet_end=quiet_end,
        end=quorum.look(),
        tally=tally,
    )


@contextmanager
def _appending(appenders: Sequence[Appender]) -> Iterator[None]:
    """Let them append during the block; all have ended after it."""
    for appender in appenders:
        appender.start()
    try:
        yield
    finally:
        for appender in appenders:
            appender.ask_to_stop()
        for appender in appenders:
            appender.join(_LONGEST_CALL_S)


def _fill(quorum: Quorum) -> None:
    with Client(quorum.honest_settings) as client:
        for _ in range(_FILLINGS):
            client.append(batch_of(bytes(_FILLING_BYTES)))
