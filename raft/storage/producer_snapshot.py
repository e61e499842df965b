"""The file `<end offset>.snapshot`: the writers and transactions after the records below that offset.

    size  field                     form
    2     version                   int16    1
    4     checksum                  uint32   CRC-32C of everything from here on
    4     number of producers       int32
    46    for each                  int64 producer id, int16 epoch, int32 last sequence, int64 last offset, int32 offset
                                    delta, int64 timestamp, int32 coordinator epoch (-1), int64 first offset of the
                                    transaction under way (-1)

Up to here it is Kafka's ProducerSnapshot, version 1; Kafka ignores what follows. Kafka remembers the last batch of a
producer only, and this project's table of writers needs more:

    4     mark                      "KSPK"
    2     version                   int16    3; 2 without ended writes
    8     log time                  int64    -1 for none
    8     first log time            int64    -1 for none
          for each producer         int8 number of remembered batches, then each (`written_entry`), oldest first
          transactions              see `transactions_section`

Producers are in the order of their last writes. A file without the second part was written by Kafka and is not used.

Source: rule LOG-22; Kafka ProducerStateManager.writeSnapshot, readSnapshot.
"""

from __future__ import annotations

import struct

from crc32c import crc32c

from raft.errors import DecodeError
from raft.storage.transactions_section import read_transactions, write_transactions
from raft.storage.written_entry import WRITTEN, read_written, write_written
from raft.transactions import ProducerStateImage
from raft.types import Offset
from raft.writers import History, TableImage, Written
from raft.writers.written import SEQUENCES

_VERSION = 1
_HEADER = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_PRODUCER = struct.Struct(">qhiqiqiq")
_MARK = b"KSPK"
_OUR_VERSION = 3
_WITHOUT_ENDED_WRITES = 2
_OUR_HEADER = struct.Struct(">4shqq")
_BATCH_COUNT = struct.Struct(">b")
_NONE = -1


def encode_producer_snapshot(image: ProducerStateImage) -> bytes:
    """Return the content of the file."""
    writers = image.writers
    entries = sorted(writers.histories.items(), key=lambda entry: entry[1][-1].base_offset)
    first_offsets = {each.producer_id: each.first_offset for each in image.transactions.transactions}
    pieces = [_COUNT.pack(len(entries))]
    pieces += [
        _kafkas_entry(producer_id, history[-1], first_offsets.get(producer_id, _NONE))
        for producer_id, history in entries
    ]
    our_version = _OUR_VERSION if image.transactions.ended_writes else _WITHOUT_ENDED_WRITES
    pieces.append(_OUR_HEADER.pack(_MARK, our_version, writers.log_time_ms, writers.first_log_time_ms))
    for _producer_id, history in entries:
        pieces.append(_BATCH_COUNT.pack(len(history)))
        pieces += map(write_written, history)
    pieces.append(write_transactions(image.transactions))
    body = b"".join(pieces)
    return _HEADER.pack(_VERSION, crc32c(body)) + body


def decode_producer_snapshot(content: bytes, *, end_offset: Offset) -> ProducerStateImage:
    """Return the writers and transactions in a file.

    Args:
        content: the content of the file.
        end_offset: the offset in its name.

    Raises:
        DecodeError: the file is damaged, of another version, or without the second part, as Kafka writes it.
    """
    try:
        return _decode(content, end_offset)
    except (struct.error, IndexError) as error:
        raise DecodeError(f"producer snapshot is incomplete: {error}") from error


def _decode(content: bytes, end_offset: Offset) -> ProducerStateImage:
    version, expected = _HEADER.unpack_from(content)
    if version != _VERSION:
        raise DecodeError(f"producer snapshot of version {version}, expected {_VERSION}")
    actual = crc32c(memoryview(content)[_HEADER.size :])
    if actual != expected:
        raise DecodeError(f"producer snapshot with checksum {actual:08x}, expected {expected:08x}")
    (count,) = _COUNT.unpack_from(content, _HEADER.size)
    position = _HEADER.size + _COUNT.size
    if not 0 <= count <= (len(content) - position) // _PRODUCER.size:
        raise DecodeError(f"producer snapshot with {count} producers in {len(content)} bytes")
    producer_ids = [_PRODUCER.unpack_from(content, position + at * _PRODUCER.size)[0] for at in range(count)]
    position += count * _PRODUCER.size
    if content[position : position + len(_MARK)] != _MARK:
        raise DecodeError("producer snapshot of Kafka, without the part that this project needs")
    _mark, our_version, log_time_ms, first_log_time_ms = _OUR_HEADER.unpack_from(content, position)
    if not _WITHOUT_ENDED_WRITES <= our_version <= _OUR_VERSION:
        raise DecodeError(
            f"producer snapshot whose second part has version {our_version}, expected {_WITHOUT_ENDED_WRITES} or "
            f"{_OUR_VERSION}"
        )
    position += _OUR_HEADER.size
    histories: dict[int, History] = {}
    for producer_id in producer_ids:
        (batches,) = _BATCH_COUNT.unpack_from(content, position)
        position += _BATCH_COUNT.size
        if batches < 1 or producer_id in histories:
            raise DecodeError(f"producer snapshot with {batches} batches of producer id {producer_id}")
        histories[producer_id] = tuple(
            read_written(content, position + at * WRITTEN.size, end_offset) for at in range(batches)
        )
        position += batches * WRITTEN.size
    transactions, position = read_transactions(
        content, position, end_offset, has_ended_writes=our_version == _OUR_VERSION
    )
    if position != len(content):
        raise DecodeError(f"producer snapshot with {len(content) - position} bytes behind its end")
    writers = TableImage(
        end_offset=end_offset, log_time_ms=log_time_ms, first_log_time_ms=first_log_time_ms, histories=histories
    )
    return ProducerStateImage(writers=writers, transactions=transactions)


def _kafkas_entry(producer_id: int, last: Written, first_offset_of_transaction: int) -> bytes:
    last_sequence = (last.sequence + last.record_count - 1) % SEQUENCES
    return _PRODUCER.pack(
        producer_id,
        last.epoch,
        last_sequence,
        last.end_offset - 1,
        last.end_offset - last.base_offset - 1,
        last.log_time_ms,
        _NONE,
        first_offset_of_transaction,
    )
