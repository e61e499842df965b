"""What programs use: a producer appends exactly once, a transaction is whole, a reader has what is committed."""

from __future__ import annotations

import inspect
import textwrap
import time
from collections.abc import Iterator
from itertools import islice

import pytest

import raft
from raft import (
    AppendedRecords,
    Client,
    ConfigError,
    OffsetOutOfRangeError,
    Producer,
    QuorumUnavailableError,
    Reader,
    Record,
    RequestError,
    Transaction,
    WriteKey,
)
from raft.client.results import Appended
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a quorum of one node listens."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("node"), voters=1)) as nodes:
        nodes.start().wait_for_leader()
        yield str(nodes.endpoint(1))


@pytest.fixture
def producer(quorum: str) -> Iterator[Producer]:
    with Producer(quorum, batch_bytes=1_000) as opened:
        yield opened


@pytest.fixture
def reader(quorum: str) -> Iterator[Reader]:
    """A reader of what is appended from now on."""
    with Reader(quorum) as opened:
        opened.seek_to_end()
        yield opened


def values(reader: Reader) -> list[bytes | None]:
    return [record.value for record in reader]


def test_record_is_read_as_it_was_appended(producer: Producer, reader: Reader) -> None:
    headers = (("trace", b"1"), ("empty", None))

    offset = producer.append(b"value", key=b"key", headers=headers, timestamp_ms=1_700_000_000_000)

    assert list(reader) == [
        Record(key=b"key", value=b"value", headers=headers, timestamp_ms=1_700_000_000_000, offset=offset)
    ]
    assert list(reader) == []
    assert reader.offset == offset + 1


def test_records_go_into_as_many_batches_as_they_need(producer: Producer, reader: Reader) -> None:
    sent = [b"%d" % number * 100 for number in range(50)] + [b"x" * 5_000]

    appended = producer.append_all(Record(value=value) for value in sent)

    found = list(reader)
    assert [record.value for record in found] == sent
    assert appended == AppendedRecords(first_offset=found[0].offset, last_offset=found[-1].offset, count=51)
    assert all(record.timestamp_ms > 0 for record in found), "records without a time have the present one"


def test_nothing_to_append_is_an_error(producer: Producer) -> None:
    with pytest.raises(ValueError, match="expected one or more"):
        producer.append_all(())


def test_batch_with_an_unknown_outcome_is_appended_once(
    producer: Producer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Client.append
    producer.append(b"first")
    for is_appended in (True, False):

        def lose(client: Client, batch: bytes, *, is_appended: bool = is_appended) -> Appended:
            if is_appended:
                append(client, batch)
            raise QuorumUnavailableError("no response in time")

        with monkeypatch.context() as patch:
            patch.setattr(Client, "append", lose)
            for _ in range(2):
                with pytest.raises(QuorumUnavailableError):
                    producer.append(b"lost")
        producer.append(b"next")

    assert values(reader) == [b"first", b"lost", b"next", b"lost", b"next"]


def test_batch_without_a_producer_id_is_appended_before_the_next_one(
    producer: Producer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_client: Client) -> int:
        raise QuorumUnavailableError("no response in time")

    with monkeypatch.context() as patch:
        patch.setattr(Client, "new_producer_id", lose)
        for _ in range(2):
            with pytest.raises(QuorumUnavailableError):
                producer.append(b"first")
        with pytest.raises(QuorumUnavailableError):
            producer.transaction()
    producer.append(b"next")

    assert values(reader) == [b"first", b"next"]


def test_transaction_comes_after_a_batch_with_an_unknown_outcome(
    producer: Producer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_client: Client, _batch: bytes) -> Appended:
        raise QuorumUnavailableError("no response in time")

    with monkeypatch.context() as patch:
        producer.append(b"first")
        patch.setattr(Client, "append", lose)
        with pytest.raises(QuorumUnavailableError):
            producer.append(b"lost")
        with pytest.raises(QuorumUnavailableError):
            producer.transaction()
    with producer.transaction() as transaction:
        transaction.append(b"later")

    assert values(reader) == [b"first", b"lost", b"later"]


def test_batches_are_counted_up_to_the_refused_one(producer: Producer, reader: Reader) -> None:
    sent = [Record(value=b"%d" % number * 600) for number in range(3)]
    appended: list[AppendedRecords] = []

    with pytest.raises(RequestError, match="too large: expected at most max_request_bytes"):
        appended += producer.append_in_batches([*sent, Record(value=bytes(9 << 20))])
    for part in producer.append_in_batches(sent):
        appended.append(part)
        break

    assert [part.count for part in appended] == [1, 1, 1, 1]
    assert values(reader) == [*(record.value for record in sent), sent[0].value]


@pytest.mark.parametrize("before", [0, 5])
def test_record_that_is_too_large_for_a_transaction_is_refused_and_nothing_is_visible(
    producer: Producer, reader: Reader, before: int
) -> None:
    def fail(transaction: Transaction) -> None:
        with transaction:
            transaction.append_all([Record(value=bytes(600))] * before)
            transaction.append(bytes(9 << 20))

    with pytest.raises(RequestError, match="too large: expected at most max_request_bytes"):
        fail(producer.transaction())
    producer.append(b"next")

    assert values(reader) == [b"next"]


def test_producer_that_the_nodes_have_forgotten_goes_on(producer: Producer, reader: Reader) -> None:
    producer.append(b"before")
    producer._next_sequence += 7  # For the nodes, this is as if they had no record of it.

    producer.append(b"after")
    producer.append(b"later")

    assert values(reader) == [b"before", b"after", b"later"]


def test_refused_record_is_not_appended_and_the_producer_goes_on(producer: Producer, reader: Reader) -> None:
    with pytest.raises(RequestError):
        producer.append(bytes(9 << 20))
    producer.append(b"next")

    assert values(reader) == [b"next"]


@pytest.mark.parametrize("count", [1, 2, 40])
def test_transaction_is_visible_when_its_block_has_ended(producer: Producer, reader: Reader, count: int) -> None:
    sent = [b"%d" % number * 100 for number in range(count)]

    with producer.transaction() as transaction:
        for value in sent:
            transaction.append(value)
        assert values(reader) == []

    assert values(reader) == sent


@pytest.mark.parametrize("count", [1, 40])
def test_transaction_whose_block_fails_is_never_visible(producer: Producer, reader: Reader, count: int) -> None:
    def fail(transaction: Transaction) -> None:
        with transaction:
            transaction.append_all(Record(value=bytes(100)) for _ in range(count))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(producer.transaction())
    producer.append(b"next")

    assert values(reader) == [b"next"], "readers do not wait for it"


@pytest.mark.parametrize("count", [1, 40])
def test_repeated_transaction_is_appended_once(producer: Producer, reader: Reader, quorum: str, count: int) -> None:
    records = [Record(value=b"%d" % number * 100, timestamp_ms=1) for number in range(count)]
    key = WriteKey(f"job of {count}", 7)
    with producer.transaction(key) as first:
        first.append_all(records)

    with Producer(quorum, batch_bytes=1_000) as after_a_crash:
        with after_a_crash.transaction(key) as second:
            second.append_all(records)
        with pytest.raises(RequestError), after_a_crash.transaction(key) as other:
            other.append_all([*records, Record(value=b"one more")])
        with after_a_crash.transaction(WriteKey(key.writer_id, 6)) as earlier:
            earlier.append(b"an earlier version")

    assert (first.is_superseded, second.is_superseded, earlier.is_superseded) == (False, False, True)
    assert values(reader) == [record.value for record in records]


def test_empty_transaction_appends_nothing(producer: Producer, reader: Reader) -> None:
    with producer.transaction():
        pass

    assert values(reader) == []


def test_transaction_takes_records_only_within_its_block(producer: Producer) -> None:
    transaction = producer.transaction()
    with pytest.raises(RuntimeError, match="within its `with` block"):
        transaction.append(b"too early")
    with transaction:
        pass
    with pytest.raises(RuntimeError, match="within its `with` block"):
        transaction.append(b"too late")


def test_followed_log_yields_what_is_appended_later(producer: Producer, reader: Reader) -> None:
    producer.append(b"first")
    following = reader.follow()
    found = [next(following).value]

    producer.append(b"second")
    found += [record.value for record in islice(following, 1)]

    assert found == [b"first", b"second"]


def test_iteration_goes_on_after_the_last_record_that_was_taken(producer: Producer, reader: Reader) -> None:
    producer.append_all(Record(value=b"%d" % number) for number in range(5))

    taken = [record.value for record in islice(reader, 2)]

    assert (taken, values(reader)) == ([b"0", b"1"], [b"2", b"3", b"4"])


def test_reader_begins_where_it_is_told_to(producer: Producer, quorum: str) -> None:
    later_ms = int(time.time() * 1000) + 60_000  # Later than those of all records before.
    first = producer.append(b"first", timestamp_ms=later_ms)
    second = producer.append(b"second", timestamp_ms=later_ms + 1_000)

    with Reader(quorum, start=second) as from_offset, Reader(quorum) as reader:
        assert values(from_offset) == [b"second"]
        assert reader.offset == 0
        reader.seek(first)
        assert values(reader) == [b"first", b"second"]
        reader.seek_to_timestamp(later_ms + 1)
        assert values(reader) == [b"second"]
        reader.seek_to_timestamp(later_ms + 2_000)
        assert values(reader) == []


def test_offset_outside_of_the_log_is_an_error(quorum: str) -> None:
    with Reader(quorum, start=1_000_000) as reader, pytest.raises(OffsetOutOfRangeError, match="out of range"):
        next(reader.follow())


@pytest.mark.parametrize("make", [Client, Producer, Reader])
def test_servers_that_are_no_addresses_are_an_error(make: type[Client | Producer | Reader]) -> None:
    for servers, message in (("localhost", "localhost"), ("", "host:port")):
        with pytest.raises(ConfigError, match=message):
            make(servers)


@pytest.mark.parametrize("shown", [Producer, Reader, Transaction])
def test_examples_of_the_docstrings_run(shown: type[object], quorum: str, producer: Producer) -> None:
    documented = inspect.getdoc(shown) or ""
    lines = [line for line in documented.split("Args:")[0].splitlines() if not line or line.startswith("    ")]
    example = textwrap.dedent("\n".join(lines)).replace("localhost:9092", quorum)

    names = {**{name: getattr(raft, name) for name in raft.__all__}, "producer": producer, "lines": [b"a", b"b"]}
    exec(example, names)


def test_every_public_name_has_a_docstring_and_is_what_its_module_has() -> None:
    for name in raft.__all__:
        assert getattr(raft, name) is not None
        assert name == "__version__" or inspect.getdoc(getattr(raft, name)), name
    with pytest.raises(AttributeError, match="has no attribute 'Session'"):
        raft.Session  # noqa: B018
