"""A leader whose process is stopped keeps its connections and sends nothing: drivers switch to its successor."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from raft.client import calls, descriptions
from raft.local import LocalQuorum
from raft.types import Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from tests.client.driving import Drive
from tests.local.conftest import QUICK
from tests.node.harness.batches import batch_of, values_in

LONG_MS = 120_000


def test_append_goes_to_the_next_leader_while_the_request_to_the_suspended_one_is_in_flight(
    drive: Drive, tmp_path: Path
) -> None:
    with LocalQuorum.start(tmp_path, settings=QUICK) as quorum, quorum.client() as onlooker:
        frozen = onlooker.describe_quorum().leader_id
        # No request times out in this test, so only the lookup at other nodes makes the driver leave the suspended one.
        driver = drive(replace(onlooker.settings, api_timeout_ms=LONG_MS, request_timeout_ms=LONG_MS))
        first = driver.call(calls.append, batch_of(b"before", producer_id=7))
        os.kill(quorum.pids[frozen], signal.SIGSTOP)
        try:
            second = driver.call(calls.append, batch_of(b"meanwhile", producer_id=7, sequence=1))
            described = driver.call(descriptions.describe_quorum)
            fetched = driver.call(calls.fetch_committed, Offset(0), max_bytes=1 << 20, max_wait_ms=0)
        finally:
            os.kill(quorum.pids[frozen], signal.SIGCONT)
        repeated = driver.call(calls.append, batch_of(b"meanwhile", producer_id=7, sequence=1))

    assert described.leader_id != frozen
    assert values_in(fetched.records) == [b"before", b"meanwhile"]
    assert first.base_offset < second.base_offset == repeated.base_offset


@pytest.mark.rule("READ-1")
def test_latest_includes_what_was_written_while_the_asked_leader_was_suspended(drive: Drive, tmp_path: Path) -> None:
    with LocalQuorum.start(tmp_path, settings=QUICK) as quorum, quorum.client() as onlooker:
        for sequence in range(3):
            frozen = onlooker.describe_quorum().leader_id
            os.kill(quorum.pids[frozen], signal.SIGSTOP)
            try:
                written = onlooker.append(batch_of(b"meanwhile", producer_id=7, sequence=sequence))
            finally:
                os.kill(quorum.pids[frozen], signal.SIGCONT)
            # A new driver knows of no epoch, and asks only the node that still takes itself for the leader.
            endpoint = onlooker.settings.bootstrap_servers[sorted(quorum.pids).index(frozen)]
            driver = drive(replace(onlooker.settings, bootstrap_servers=(endpoint,)))
            found = driver.call(calls.find_offset, LATEST_TIMESTAMP)

            assert found is not None
            assert found.offset > written.base_offset
