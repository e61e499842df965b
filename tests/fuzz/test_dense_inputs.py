"""Memory bounds hold for dense inputs: 64 KiB of the smallest elements that become objects.

Mutated samples are short, so the fixed part of a bound covers most of their memory. Here it covers little.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

import pytest

from raft.codec import encode
from raft.codec.varint import encode_uvarint
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Offset
from raft.wire.messages.vote import VoteRequest
from tests.columns.batches import NOW_MS
from tests.fuzz.decoders import DECODERS
from tests.fuzz.trial import Trial

SIZE_BYTES = 1 << 16

EMPTY_VOTE = encode(VoteRequest(cluster_id=None, voter_id=1, topics=()), 2)
"""Ends with the count of its topics and the count of its tags."""

SMALLEST_RECORD = Record(value=None, timestamp_ms=NOW_MS)
RECORD_OF_EMPTY_HEADERS = Record(value=None, timestamp_ms=NOW_MS, headers=(("", b""),) * (SIZE_BYTES // 2))


def trial(decoder_name: str, sample_name: str, content: bytes) -> Trial:
    """Return the trial of bytes that are decoded like this sample."""
    decoder = next(decoder for decoder in DECODERS if decoder.name == decoder_name)
    sample = next(sample for sample in decoder.samples if sample.name.startswith(sample_name))
    return Trial(decoder=decoder, sample=sample, content=content)


def unknown_tags() -> bytes:
    """A Vote request with as many unknown tags as fit."""
    count = SIZE_BYTES // 2
    return EMPTY_VOTE[:-1] + encode_uvarint(count) + b"\x64\x00" * count


def empty_topics() -> bytes:
    """A Vote request with as many topics without name and partitions as fit."""
    count = SIZE_BYTES // 3
    return EMPTY_VOTE[:-2] + encode_uvarint(count + 1) + b"\x01\x01\x00" * count + b"\x00"


def smallest_records() -> bytes:
    """A batch of records of 7 bytes."""
    return build_batch([SMALLEST_RECORD] * (SIZE_BYTES // 8))


def small_batches() -> bytes:
    """Batches of one record each."""
    return b"".join(build_batch([SMALLEST_RECORD], base_offset=Offset(at)) for at in range(SIZE_BYTES // 68))


def json_of(element: str) -> bytes:
    """A JSON object with a list of empty lists or objects in it."""
    return f'{{"a":[{",".join([element] * (SIZE_BYTES // 3))}]}}'.encode()


def json_of_many_keys() -> bytes:
    """A JSON object with as many keys as fit."""
    return json.dumps({f"{key:x}": 0 for key in range(SIZE_BYTES // 9)}, separators=(",", ":")).encode()


def packed(element: bytes) -> bytes:
    """A row in msgpack with an array of these elements where numbers are expected."""
    return b"\x81\xa5parts\xdd" + SIZE_BYTES.to_bytes(4, "big") + element * SIZE_BYTES


def many_properties() -> bytes:
    """Pairs of short keys and empty values."""
    return b"version=1\n" + b"".join(b"%x=\n" % key for key in range(SIZE_BYTES // 6))


def smallest_parts() -> bytes:
    """A WRITE_COMMIT of as many parts as fit; a part has no smaller form."""
    count = SIZE_BYTES // 24
    return struct.pack(">hi", 0, count) + struct.pack(">qqQ", 0, 1, 0) * count


def nameless_producers() -> bytes:
    """A section of transactions with as many transactional ids without a name as fit."""
    count = SIZE_BYTES // 35
    producer = struct.pack(">qhiqhbqh", 0, 0, 0, -1, -1, -1, 0, 0)
    return struct.pack(">ii", 0, count) + producer * count + struct.pack(">i", 0)


def smallest_transactions() -> bytes:
    """A section of transactions with as many open ones of one record as fit."""
    count = SIZE_BYTES // 59
    return struct.pack(">i", count) + struct.pack(">qhqqqqqQb", 0, 0, 0, 0, 0, 0, 1, 0, 0) * count + bytes(8)


def missing_markers() -> bytes:
    """A section of transactions with a commit without as many of its markers as fit."""
    count = SIZE_BYTES // 8
    return struct.pack(">iiiqqi", 0, 0, 1, 0, 0, count) + bytes(8 * count)


def options_of_jaas() -> bytes:
    """An entry of JAAS with as many options as fit."""
    return b"org.apache.kafka.common.security.plain.PlainLoginModule required " + b"a=b " * (SIZE_BYTES // 4) + b";"


def users_without_credentials() -> bytes:
    """A file of credentials with as many users as fit, none of whom can authenticate."""
    return b'{"users":{' + b",".join(b'"%x":{}' % user for user in range(SIZE_BYTES // 10)) + b"}}"


def principals_of_a_rule() -> bytes:
    """A file of rules with as many principals as fit."""
    return b"allow.read=[" + b",".join(b'"User:%x"' % user for user in range(SIZE_BYTES // 13)) + b"]"


def dense_inputs() -> Iterator[tuple[str, Trial]]:
    """Yield all inputs, with their names."""
    yield "unknown tags", trial("messages", "VoteRequest v2", unknown_tags())
    yield "empty topics", trial("messages", "VoteRequest v2", empty_topics())
    yield "empty frames", trial("streams of frames", "three", bytes(SIZE_BYTES))
    yield "records", trial("batches", "ours, none", smallest_records())
    yield "headers", trial("batches", "ours, none", build_batch([RECORD_OF_EMPTY_HEADERS]))
    yield "batches", trial("runs of batches", "plain", small_batches())
    yield "parts of a write", trial("control values", "WRITE_COMMIT", smallest_parts())
    yield "open transactions", trial("transactions sections", "", smallest_transactions())
    yield "transactional ids", trial("transactions sections", "", nameless_producers())
    yield "missing markers", trial("transactions sections", "", missing_markers())
    yield "records in columns", trial("columns", "one batch", smallest_records())
    yield "batches in columns", trial("columns", "one batch", small_batches())
    for headers in ("headers=False", "headers=True"):
        batch = build_batch([Record(value=None, timestamp_ms=NOW_MS, headers=(("", b""),) * 3)] * (SIZE_BYTES // 14))
        query = f"one batch, Query(start_offset=0, end_offset={2**63 - 1}, {headers}"
        yield f"headers in columns, {headers}", trial("columns", query, batch)
    records = [SMALLEST_RECORD] * (SIZE_BYTES // 8)
    for codec in (Compression.GZIP, Compression.LZ4, Compression.ZSTD):
        yield f"{codec.name.lower()} in columns", trial("columns", "one batch", build_batch(records, compression=codec))
    yield "lists in JSON", trial("quorum-state", "Kafka's", json_of("[]"))
    yield "objects in JSON", trial("quorum-state", "Kafka's", json_of("{}"))
    yield "keys in JSON", trial("quorum-state", "Kafka's", json_of_many_keys())
    yield "lists in an offset", trial("offsets", "", json_of("[]"))
    yield "empty lines", trial("small files", "epochs", b"0\n1\n" + b"\n" * SIZE_BYTES)
    yield "words of a line", trial("small files", "epochs", b"0\n1\n" + b"a " * SIZE_BYTES)
    yield "properties", trial("small files", "meta.properties", many_properties())
    yield "batches in a log", trial("log directories", "00000000000000000000.log", small_batches())
    yield "options of JAAS", trial("entries of JAAS", "", options_of_jaas())
    yield "users", trial("files of credentials", "", users_without_credentials())
    yield "principals of a rule", trial("files of rules", "", principals_of_a_rule())
    yield "rules that name clients", trial("rules that name clients", "", b"RULE://," * (SIZE_BYTES // 8))
    yield "groups of a pattern", trial("rules that name clients", "", b"RULE:" + b"()" * (SIZE_BYTES // 2) + b"//")
    yield "extensions of SCRAM", trial("SCRAM messages of a client", "", b"n,,n=a,r=b" + b",x=1" * (SIZE_BYTES // 4))
    yield "maps in msgpack", trial("msgpack", "a row", packed(b"\x80"))
    yield "arrays in msgpack", trial("msgpack", "a row", packed(b"\x90"))
    yield "numbers in msgpack", trial("msgpack", "a row", packed(b"\x01"))


@pytest.mark.parametrize("dense", [pytest.param(dense, id=name) for name, dense in dense_inputs()])
def test_decoder_keeps_its_bound_when_the_input_is_dense(dense: Trial) -> None:
    dense.run()
