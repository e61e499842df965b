"""Linearizable reads in large numbers, and batch plans of any size."""

from __future__ import annotations

from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from raft.wire.messages.offset_for_leader_epoch import BatchPlanRequest
from tests.hostile.attacks.transactions import AttackOfLeader
from tests.hostile.connection import Connection
from tests.node.harness.requests import epoch_end_request, list_offsets_request

_IN_FLIGHT = 100
_NUMBERS = (-(1 << 63), -2, -1, 0, 1, 1 << 31, (1 << 63) - 1)
_TIMEOUTS_MS = (-(1 << 31), 0, 1, (1 << 31) - 1)


class LinearizableReads(AttackOfLeader):
    """ListOffsets of the latest offset, each of which makes the leader hear from a majority; some are abandoned."""

    width = 3

    async def round(self, connection: Connection) -> None:
        for _ in range(_IN_FLIGHT):
            request = list_offsets_request(
                LATEST_TIMESTAMP, is_linearizable=True, timeout_ms=self.dice.choice(_TIMEOUTS_MS)
            )
            await connection.send_request(request, 7)
        if self.dice.random() < 0.5:
            for _ in range(_IN_FLIGHT):
                await connection.frame()


class AbsurdPlans(AttackOfLeader):
    """Plans of a batch with any bounds, from everything to less than nothing."""

    width = 1

    async def round(self, connection: Connection) -> None:
        for _ in range(20):
            plan = BatchPlanRequest(
                start_offset=self.dice.choice((0, 1, 5, *_NUMBERS)),
                max_records=self.dice.choice(_NUMBERS),
                max_bytes=self.dice.choice(_NUMBERS),
                end_offset=self.dice.choice(_NUMBERS),
            )
            await connection.send_request(epoch_end_request(1, plan=plan), 4)
        for _ in range(20):
            await connection.frame()
