"""What the load generator is given."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from benchmarks.generator import VALUE_BYTES, error_position, produce_frame
from raft.records.batch import read_records
from raft.types import Uuid
from raft.wire.apis import PRODUCE
from raft.wire.frames import ReceivedRequest, decode_request, encode_response
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from tests.node.harness.properties import TOPIC


def test_frame_is_a_produce_request_with_one_record() -> None:
    frame = produce_frame()

    (size,) = struct.unpack_from(">i", frame)
    received = decode_request(frame[4:])
    assert size == len(frame) - 4
    assert isinstance(received, ReceivedRequest)
    assert isinstance(received.message, ProduceRequest)
    records = received.message.topic_data[0].partition_data[0].records
    assert records is not None
    assert [len(record.value or b"") for record in read_records(records)] == [VALUE_BYTES]


@pytest.mark.parametrize("error_code", [0, 6, 87])
def test_error_code_stands_where_the_generator_looks(error_code: int) -> None:
    partition = ProduceResponsePartition(index=0, error_code=error_code, base_offset=12345, error_message="words")
    topic = ProduceResponseTopic(name=TOPIC, topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ"), partition_responses=(partition,))
    answer = encode_response(ProduceResponse(responses=(topic,)), PRODUCE.versions.highest, correlation_id=7)

    (found,) = struct.unpack_from(">h", answer, 4 + error_position())

    assert found == error_code


@pytest.mark.skipif(shutil.which("go") is None, reason="the load generator needs Go, which this machine does not have")
def test_generator_passes_its_own_tests() -> None:
    source = Path(__file__).parents[2] / "benchmarks" / "load"

    tested = subprocess.run(["go", "test", "./..."], cwd=source, capture_output=True, text=True, check=False)

    assert tested.returncode == 0, tested.stdout + tested.stderr
