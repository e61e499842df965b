"""Any bytes from another node are decoded or refused with DecodeError, at bounded cost."""

import random
import tracemalloc

import pytest

from raft.codec import Message, decode, encode
from raft.errors import DecodeError
from raft.wire.apis import APIS
from raft.wire.frames import decode_request, decode_response, encode_request, encode_response
from tests.codec.samples import sample
from tests.wire.catalog import EDITIONS, every_edition

CHANGES_PER_EDITION = 10_000 // len(EDITIONS) + 1


def changed(content: bytes, dice: random.Random) -> bytes:
    """The content with some bytes replaced, mostly by those that lengths and counts begin with."""
    result = bytearray(content)
    for _ in range(dice.randint(1, 4) if result else 0):
        result[dice.randrange(len(result))] = dice.choice([0, 1, 2, 127, 128, 255, dice.randrange(256)])
    return bytes(result)


@every_edition
def test_message_truncated_at_any_length_is_refused(message_class: type[Message], version: int) -> None:
    encoded = encode(sample(message_class, version), version)

    for length in range(len(encoded)):
        with pytest.raises(DecodeError):
            decode(message_class, version, encoded[:length])


@every_edition
def test_changed_message_is_refused_or_one_that_can_be_sent_again(message_class: type[Message], version: int) -> None:
    encoded = encode(sample(message_class, version), version)
    dice = random.Random(f"{message_class.__name__} {version}")

    for _ in range(CHANGES_PER_EDITION):
        try:
            decoded = decode(message_class, version, changed(encoded, dice))
        except DecodeError:
            continue
        assert decode(message_class, version, encode(decoded, version)) == decoded


def test_changed_request_frames_are_read_or_refused() -> None:
    dice = random.Random(1)
    for api in APIS.values():
        for version in api.versions:
            frame = encode_request(sample(api.request, version), version, correlation_id=1, client_id="client")[4:]
            for _ in range(20):
                try:
                    decode_request(changed(frame, dice))
                except DecodeError:
                    continue


def test_changed_response_frames_are_read_or_refused() -> None:
    dice = random.Random(2)
    for api in APIS.values():
        for version in api.versions:
            frame = encode_response(sample(api.response, version), version, correlation_id=1)[4:]
            for _ in range(20):
                try:
                    decode_response(changed(frame, dice), api, version)
                except DecodeError:
                    continue


@pytest.mark.parametrize("count", [b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff"], ids=["varint", "int32"])
@every_edition
def test_huge_count_at_any_place_takes_no_memory(message_class: type[Message], version: int, count: bytes) -> None:
    encoded = encode(sample(message_class, version), version)
    forged = [encoded[:place] + count + encoded[place + 1 :] for place in range(len(encoded))]
    decode(message_class, version, encoded)

    tracemalloc.start()
    try:
        for each in forged:
            try:
                decode(message_class, version, each)
            except DecodeError:
                continue
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < 200_000
