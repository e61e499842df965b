"""For any bytes: DecodeError or a valid result, no other exception, and no more output than allowed."""

import random

import pytest

from raft.errors import DecodeError
from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches, read_good_prefix
from raft.records.compression import Compression
from raft.records.control import leader_change_batch, read_control_records
from raft.records.header import read_header
from raft.records.header_fields import HEADER
from raft.records.record import Record
from raft.types import Epoch, NodeId, Offset
from tests.records.librdkafka_batches import CAUGHT
from tests.records.samples import RICH, with_right_crc

SEEDS = (
    build_batch([*RICH[:3], Record(key=b"k" * 70, value=b"v" * 200)]),
    build_batch([Record(value=b"%d" % i) for i in range(40)], compression=Compression.ZSTD),
    leader_change_batch(
        base_offset=Offset(3),
        epoch=Epoch(2),
        leader_id=NodeId(1),
        voters=[NodeId(1), NodeId(2)],
        granting_voters=[NodeId(1)],
        timestamp_ms=1,
    ),
    *CAUGHT.values(),
)
EDGES = (0x00, 0x01, 0x7F, 0x80, 0xFF)
INPUTS_PER_ROUND = 500
MAX_BYTES = 1 << 20


def mutated(dice: random.Random) -> bytes:
    data = bytearray(dice.choice(SEEDS))
    for _ in range(dice.randint(1, 4)):
        # The header decides most, so half of the damage goes there.
        position = dice.randrange(min(len(data), HEADER.size) if dice.random() < 0.5 else len(data))
        match dice.randrange(4):
            case 0:
                data[position] ^= 1 << dice.randrange(8)
            case 1:
                data[position] = dice.choice(EDGES)
            case 2:
                del data[position : position + dice.randint(1, 8)]
            case _:
                data[position:position] = dice.randbytes(dice.randint(1, 8))
        if len(data) < HEADER.size:
            break
    result = bytes(data)
    # With a wrong checksum nearly all of them would be refused there.
    return with_right_crc(result) if len(result) >= HEADER.size and dice.random() < 0.8 else result


@pytest.mark.parametrize("round_number", range(10))
def test_readers_raise_only_decode_error_when_batches_are_mutated(round_number: int) -> None:
    dice = random.Random(f"batch reader {round_number}")
    accepted = 0

    for _ in range(INPUTS_PER_ROUND):
        data = mutated(dice)
        try:
            header = read_header(data)
            records = list(read_records(data, max_bytes=MAX_BYTES))
            accepted += 1
            assert len(records) == header.record_count
            assert all(header.base_offset <= record.offset <= header.last_offset for record in records)
            if header.is_control:
                assert len(read_control_records(data)) == len(header.control_types)
        except DecodeError:
            pass
        prefix = read_good_prefix(data)
        assert sum(batch.header.size_bytes for batch in prefix.batches) <= len(data)
        if prefix.damage is None:
            assert tuple(read_batches(data)) == prefix.batches

    # If all inputs were refused by the first check, the others would not be tested.
    assert accepted > INPUTS_PER_ROUND // 50


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec], ids=lambda codec: codec.name.lower())
def test_codec_raises_only_decode_error_when_its_bytes_are_mutated(codec: Compression) -> None:
    dice = random.Random(f"codec {codec.name}")
    batch = build_batch([Record(value=b"leader %d " % (i % 7) * 9) for i in range(60)], compression=codec)

    for _ in range(INPUTS_PER_ROUND):
        data = bytearray(batch)
        for _ in range(dice.randint(1, 3)):
            data[dice.randrange(HEADER.size, len(data))] = dice.choice((dice.randrange(256), *EDGES))
        try:
            records = list(read_records(bytes(data), max_bytes=MAX_BYTES))
        except DecodeError:
            continue
        assert sum(len(record.value or b"") for record in records) <= MAX_BYTES
