"""Causes of the messages of docs/troubleshooting.md: each function produces one message, without a Spark session."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import IntegerType, StringType, StructField, StructType
from pyspark.worker_util import check_python_version

from datasource import KraftDataSource, sink_fence
from datasource.batch_reader import KraftBatchReader
from datasource.batch_writer import KraftBatchWriter
from datasource.columns import encode_batch
from datasource.limits import BatchLimits
from datasource.micro_batch import next_batch
from datasource.offsets import Reached
from datasource.option_names import check_names
from datasource.option_values import NamedOffset
from datasource.options import ReadOptions, WriteOptions
from datasource.read_plan import resolve_start
from datasource.responses import read_response
from datasource.stream_reader import KraftStreamReader
from datasource.write_task import collect_rows
from kraft_spark.worker_python import WorkerPython, warn_of_another_python
from pyspark_kraft.own_packages import load_own_packages
from pyspark_kraft.presence import restore_if_present
from raft.client import Client, Fetched, LogPosition, WriteKey
from raft.client.discovery import LeaderNode
from raft.client.outage import Outage
from raft.client.session import ResponseStatus, Session
from raft.client.settings import ClientSettings
from raft.core.disk_room import FULL_DISK
from raft.errors import ErrorCode, RaftError
from raft.local.ports import free_ports
from raft.records.produced import read_produced_batch
from raft.types import Epoch, Offset
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.client.table import PLACES, Table, metadata, node
from tests.datasource.leader_in_memory import LeaderInMemory
from tests.datasource.logs import Log, LogClient

Patch = pytest.MonkeyPatch
SERVERS = {"kraft.bootstrap.servers": "localhost:1", "kraft.default.api.timeout.ms": "100"}
VALUES = StructType([StructField("value", StringType())])


def message_of(fail: Callable[[], Any]) -> str:
    """Return the message of the error that a call raises."""
    with pytest.raises((RaftError, ValueError, ImportError, PySparkException)) as refusal:
        fail()
    return str(refusal.value)


def _read(**options: str) -> ReadOptions:
    return ReadOptions.of(SERVERS | options)


def _source(**options: str) -> KraftDataSource:
    return KraftDataSource(SERVERS | options)


def other_python(_patch: Patch, folder: Path) -> str:
    python = WorkerPython(command=str(folder / "no-python"), variable="PYSPARK_PYTHON", path=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_another_python([python], stack_level=1)
    return str(caught[0].message)


def _restore(version: str = "0.0.1") -> str:
    return message_of(lambda: restore_if_present("datasource.task_rows", "TaskRows", version))


class _Hidden:
    """Finds no module."""

    def find_spec(self, *_: object) -> None:
        return None


def missing_package(patch: Patch, _folder: Path) -> str:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark_kraft"]:
        patch.delitem(sys.modules, name)
    patch.setattr(sys, "meta_path", [_Hidden()])
    return _restore()


def other_package(_patch: Patch, _folder: Path) -> str:
    return _restore()


def other_minor_version(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: check_python_version("2.7"))


def hidden_package(patch: Patch, _folder: Path) -> str:
    patch.setitem(sys.modules, "raft", ModuleType("raft"))
    return str(load_own_packages())


def unknown_option(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: check_names({"startingoffset": "1"}))


def option_of_kafka(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: check_names({"subscribe": "topic"}))


def no_servers(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: ReadOptions.of({}))


def wrong_value(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _read(startingOffsets="abc"))


def option_of_batches(_patch: Patch, _folder: Path) -> str:
    return message_of(_read(endingOffsets="5").check_for_stream)


def other_schema(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _source().reader(VALUES))


def wrong_column(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _source().writer(StructType([StructField("value", IntegerType())]), False))


def overwrite(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _source().writer(VALUES, True))


def complete(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _source().streamWriter(VALUES, True))


def unreachable(_patch: Patch, _folder: Path) -> str:
    (port,) = free_ports(1)
    return message_of(KraftBatchReader(_read(**{"kraft.bootstrap.servers": f"127.0.0.1:{port}"})).partitions)


def _ask(table: Table, settings: ClientSettings, said: list[str], *, words: str | None = None) -> None:
    def request_to(_leader: LeaderNode) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def status_of(response: InitProducerIdResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code, message=words)

    session = Session(settings, report=said.append)
    table.run(session.ask_leader(request_to, status_of, table.deadline(20_000)))


def _settings(cluster_id: str | None = None) -> ClientSettings:
    return ClientSettings(bootstrap_servers=(PLACES[1],), cluster_id=cluster_id)


def outage_warning(_patch: Patch, _folder: Path) -> str:
    said: list[str] = []
    message_of(lambda: _ask(Table({PLACES[1]: node(knows=metadata(None))}), _settings(), said))
    return said[0]


def end_of_outage(_patch: Patch, _folder: Path) -> str:
    said: list[str] = []
    outage = Outage(_settings(), said.append)
    outage.begin(0, 60_000)
    outage.check(5_000)
    outage.end(6_000)
    return said[1]


def no_leader(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _ask(Table({PLACES[1]: node(knows=metadata(None))}), _settings(), []))


def slow_leader(_patch: Patch, _folder: Path) -> str:
    timed_out = InitProducerIdResponse(error_code=ErrorCode.REQUEST_TIMED_OUT, producer_id=-1, producer_epoch=-1)
    return message_of(lambda: _ask(Table({PLACES[1]: node(timed_out)}), _settings(), []))


def _ask_full_leader(said: list[str]) -> str:
    full = InitProducerIdResponse(error_code=ErrorCode.STORAGE_ERROR, producer_id=-1, producer_epoch=-1)
    return message_of(lambda: _ask(Table({PLACES[1]: node(full)}), _settings(), said, words=FULL_DISK))


def full_leader_warning(_patch: Patch, _folder: Path) -> str:
    said: list[str] = []
    _ask_full_leader(said)
    return said[0]


def full_leader(_patch: Patch, _folder: Path) -> str:
    return _ask_full_leader([])


def other_cluster(_patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _ask(Table({PLACES[1]: node()}), _settings("J8qFJ5vSQ_WmUo0zCbbnZg"), []))


def cluster_of_kafka(patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _write(patch, LeaderInMemory(level=0), "a"))


def start_after_end(_patch: Patch, _folder: Path) -> str:
    client, read = LogClient(Log(epochs=[1] * 5)), _read()
    return message_of(lambda: resolve_start(client, read, 6, default=NamedOffset.EARLIEST))


def no_such_time(_patch: Patch, _folder: Path) -> str:
    client, read = LogClient(Log(epochs=[1] * 5)), _read(startingTimestamp="99")
    return message_of(lambda: resolve_start(client, read, None, default=NamedOffset.EARLIEST))


def _continue(log: Log, offset: int, epoch: int) -> str:
    client = LogClient(log)
    reached = Reached(cluster_id=client.cluster_id or "", point=LogPosition(offset=Offset(offset), epoch=Epoch(epoch)))
    return message_of(lambda: next_batch(client, _read(), reached, BatchLimits()))


def shorter_log(_patch: Patch, _folder: Path) -> str:
    return _continue(Log(epochs=[1] * 5), 9, 1)


def other_log(_patch: Patch, _folder: Path) -> str:
    return _continue(Log(epochs=[1, 1, 5, 5]), 3, 3)


def beginning_is_gone(_patch: Patch, _folder: Path) -> str:
    return _continue(Log(epochs=[1] * 9, start=6), 4, 1)


def shorter_log_of_available_now(patch: Patch, _folder: Path) -> str:
    clients: list[Client] = [LogClient(Log(epochs=[1] * 9)), LogClient(Log(epochs=[1] * 6))]
    patch.setattr("datasource.stream_reader.new_client", lambda _settings: clients.pop(0))
    reader = KraftStreamReader(_read())
    reader.prepareForTriggerAvailableNow()
    reader._own_client = None
    point = LogPosition(offset=Offset(3), epoch=Epoch(1))
    reached = Reached(cluster_id=LogClient(Log(epochs=[1])).cluster_id or "", point=point)
    return message_of(lambda: reader.latestOffset(reached.to_json(), ReadAllAvailable()))


def damaged_batch(_patch: Patch, _folder: Path) -> str:
    batch = bytearray(_batch({"value": ["a"]}))
    batch[-1] ^= 1
    fetched = Fetched(records=bytes(batch), last_stable_offset=Offset(1), log_start_offset=Offset(0))
    return message_of(lambda: list(read_response(_read(), fetched, Offset(0), Offset(1))))


def _batch(columns: dict[str, list[Any]]) -> bytes:
    rows = pa.RecordBatch.from_pydict(columns)
    return encode_batch(
        [rows], producer_id=1 << 62, producer_epoch=0, base_sequence=0, timestamp_ms=1, max_bytes=1 << 20
    )


def _write(patch: Patch, leader: LeaderInMemory, *values: str, version: str = "7") -> None:
    for module in ("write_commit", "write_task"):
        patch.setattr(f"datasource.{module}.client_for", lambda *_: leader)
    written = WriteOptions.of(SERVERS | {"txnAppId": "app", "txnVersion": version})
    rows = [pa.RecordBatch.from_pydict({"value": list(values)})]
    task = collect_rows(rows, written, WriteKey("app", int(version)), partition_id=0)
    KraftBatchWriter(written).commit([task])


def large_row(patch: Patch, _folder: Path) -> str:
    return message_of(lambda: _write(patch, LeaderInMemory(max_bytes=400), "x" * 500))


def other_rows(patch: Patch, _folder: Path) -> str:
    leader = LeaderInMemory()
    _write(patch, leader, "a")
    return message_of(lambda: _write(patch, leader, "b"))


def newer_write(patch: Patch, _folder: Path) -> str:
    said: list[str] = []
    patch.setattr("datasource.write_commit._logger.warning", lambda text, *values: said.append(text % values))
    leader = LeaderInMemory()
    _write(patch, leader, "a", version="8")
    _write(patch, leader, "b")
    return said[0]


def other_quorum_of_query(patch: Patch, folder: Path) -> str:
    patch.setattr(sink_fence, "_known", {})
    (folder / "metadata").write_text('{"id": "query"}')
    sink_fence.check_cluster(str(folder), "query", "first")
    return message_of(lambda: sink_fence.check_cluster(str(folder), "query", "second"))


def header_without_key(_patch: Patch, _folder: Path) -> str:
    header = pa.array([[{"key": None, "value": b"h"}]], pa.list_(pa.struct([("key", "string"), ("value", "binary")])))
    rows = pa.RecordBatch.from_arrays([pa.array(["x"]), header], ["value", "headers"])
    return message_of(lambda: collect_rows([rows], WriteOptions.of(SERVERS), WriteKey("w", 0), partition_id=0))


def strict_nodes(_patch: Patch, _folder: Path) -> str:
    batch = _batch({"key": ["k"], "value": ["v"]})
    return _refused(message_of(lambda: read_produced_batch(batch, max_batch_bytes=1 << 20, strict=True)))


def row_without_key(_patch: Patch, _folder: Path) -> str:
    batch = _batch({"value": ["v"]})
    return _refused(message_of(lambda: read_produced_batch(batch, max_batch_bytes=1 << 20, needs_keys=True)))


def _refused(words: str) -> str:
    """Return the message of a client to which the leader says this."""
    refused = InitProducerIdResponse(error_code=ErrorCode.INVALID_RECORD, producer_id=-1, producer_epoch=-1)
    return message_of(lambda: _ask(Table({PLACES[1]: node(refused)}), _settings(), [], words=words))


NOT_FOUND = "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kraft"
"""The heading of a message of Spark, see `tests.spark.test_another_python`."""

CAUSES: dict[str, Callable[[Patch, Path], str]] = {
    "Spark's Python workers run ...; this program runs ...": other_python,
    "package kraft-spark is not installed on host ...": missing_package,
    "package kraft-spark has version ... on host ..., but version ... runs on the driver": other_package,
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version": other_minor_version,
    "the module ... was imported before, and hides the package ... of kraft-spark": hidden_package,
    "unknown option ...: did you mean ...?": unknown_option,
    "option ... of Kafka does not exist here: ...": option_of_kafka,
    "option kraft.bootstrap.servers is missing": no_servers,
    "startingOffsets=...: expected earliest, latest or an offset": wrong_value,
    "endingOffsets is for batch reads only": option_of_batches,
    "the kraft source has a fixed schema": other_schema,
    "column ... has type ...; expected binary or string": wrong_column,
    'mode("overwrite"): a log is only appended to': overwrite,
    'outputMode("complete"): a log is only appended to': complete,
    "no node of the quorum could be connected to in ... s: ...": unreachable,
    "no leader of the quorum has responded for ... s; waiting for at most ... more": outage_warning,
    "a leader of the quorum has responded after ... s": end_of_outage,
    "no leader found within ... ms: ...": no_leader,
    "no response from the leader within ... ms; last failure: ...": slow_leader,
    "the leader of the quorum has refused the request for ... s; waiting for at most ... more": full_leader_warning,
    "the leader refused the request for ... ms: ...": full_leader,
    "the quorum has cluster id ..., expected ...": other_cluster,
    "cluster ... is not a quorum of kraft-spark and can only be read": cluster_of_kafka,
    "startingOffsets=... is after the end of the log": start_after_end,
    "startingTimestamp=...: no record has this timestamp or a later one": no_such_time,
    "the log ends at ..., before the checkpoint's offset ...: was it replaced?": shorter_log,
    "the log is not the one of the checkpoint": other_log,
    "offsets ... to ... are gone: the log starts at ...": beginning_is_gone,
    "the log ends at ..., but it ended at ... when this query with Trigger.AvailableNow started": (
        shorter_log_of_available_now
    ),
    "cannot read offsets ... to ...: ...": damaged_batch,
    "a row is larger than the quorum accepts": large_row,
    "... is in the log with other rows": other_rows,
    "... is not written, because a newer write is in the log": newer_write,
    "the quorum at kraft.bootstrap.servers has cluster id ..., expected ..., to which query ... has written": (
        other_quorum_of_query
    ),
    "a header, or the key of one, is null": header_without_key,
    "INVALID_RECORD: raft.records.strict: ...": strict_nodes,
    "INVALID_RECORD: cleanup.policy=compact: ...": row_without_key,
}
"""By the headings of the document."""
