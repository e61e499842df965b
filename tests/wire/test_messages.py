"""Every message in every version: to bytes and back, and the same bytes as kio's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.codec import Message, decode_prefix, encode
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest
from tests.codec.strategies import FEW, messages
from tests.wire.catalog import every_edition
from tests.wire.kio_twin import kio_class, kio_decode, kio_encode, kio_value

KNOWN_TO_KIO = {
    # kio knows only the error codes of its time, and keeps times as datetime: it ends in the year 9999, and rounds
    # milliseconds by way of a float.
    "error_code": st.integers(-1, 133),
    "partition_error_code": st.integers(-1, 133),
    # Only this project has these fields; with their defaults they are left out, and the bytes are Kafka's.
    "batch_plan_request": st.just(BatchPlanRequest()),
    "batch_plan": st.just(BatchPlan()),
    "is_linearizable": st.just(False),
    "compacted_end": st.just(-1),
    "is_damaged": st.just(False),
    "log_append_time_ms": st.integers(0, 253_402_300_799).map(lambda seconds: seconds * 1000),
    "session_lifetime_ms": st.integers(0, 1 << 50),
    "transaction_start_time_ms": st.integers(0, 253_402_300_799).map(lambda seconds: seconds * 1000),
}


@pytest.mark.rule("TEST-16")
@every_edition
def test_message_is_unchanged_after_encode_and_decode(message_class: type[Message], version: int) -> None:
    @FEW
    @given(messages(message_class, version))
    def check(message: Message) -> None:
        encoded = encode(message, version)

        assert decode_prefix(message_class, version, encoded) == (message, len(encoded))

    check()


@every_edition
def test_message_has_the_same_bytes_and_values_as_in_kio(message_class: type[Message], version: int) -> None:
    twin_class = kio_class(message_class, version)

    @FEW
    @given(messages(message_class, version, KNOWN_TO_KIO))
    def check(message: Message) -> None:
        twin = kio_value(message, twin_class)

        encoded = encode(message, version)

        assert encoded == kio_encode(twin)
        assert kio_decode(twin_class, encoded) == twin

    check()
