"""`kraft read --latest`: the newest record of each key (READ-8)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings

from raft.cli.shown_records import newest_records
from raft.client import Client
from raft.client.view_end import ViewEnd
from raft.errors import ConfigError, OffsetOutOfRangeError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset
from tests.cli.in_process import KraftInProcess
from tests.datasource.compacting_log import CompactingLog, Entry, changes, keyed, places
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually

State = dict[bytes, tuple[int, bytes]]


def state(log: CompactingLog, end: int, *, may_move: bool) -> State:
    shown = list(newest_records(cast(Client, log), ViewEnd(Offset(end), may_move=may_move)))
    assert [each["offset"] for each in shown] == sorted({each["offset"] for each in shown})
    return {each["key"]: (each["offset"], each["value"]) for each in shown}


@pytest.mark.rule("READ-8")
@given(entries=keyed, between=changes())
@settings(max_examples=200, deadline=None)
@pytest.mark.parametrize("keeps_records", [True, False], ids=["compact", "delete"])
def test_newest_records_are_the_state_of_one_moment_though_the_log_changes(
    keeps_records: bool, entries: list[Entry], between: Callable[[CompactingLog], None]
) -> None:
    log = CompactingLog(entries, keeps_records=keeps_records, between=between)

    found = state(log, len(entries), may_move=True)

    starts = [0] if keeps_records else range(log.start + 1)
    ends = range(len(entries), len(log.entries) + 1)
    assert any(found == log.state(end, start) for end in ends for start in starts)


@pytest.mark.rule("READ-8")
@given(entries=keyed, compacted=places, end=places)
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("keeps_records", [True, False], ids=["compact", "delete"])
def test_newest_records_as_of_an_offset_are_exact_or_refused(
    keeps_records: bool, entries: list[Entry], compacted: int, end: int
) -> None:
    log = CompactingLog(entries, keeps_records=keeps_records)
    log.start, end = min(compacted, len(entries)), min(end, len(entries))

    try:
        found = state(log, end, may_move=False)
    except (ConfigError, OffsetOutOfRangeError):
        assert end < log.start, "the log was compacted, or cut, past the end"
        return

    assert found == log.state(end, 0 if keeps_records else log.start)


def test_newest_record_of_each_key_is_shown(here: KraftInProcess, client: Client, server: str) -> None:
    client.append(build_batch([Record(key=b"a", value=b"1"), Record(key=b"b", value=b"2"), Record(value=b"no key")]))
    client.append(build_batch([Record(key=b"c", value=b"3"), Record(key=b"b", value=None)]))
    client.append(build_batch([Record(key=b"a", value=b"4", headers=(("h", b"5"),))]))

    assert here("read", "--bootstrap-server", server, "--latest").output == "c\t3\na\t4\n"
    assert here("read", "--bootstrap-server", server, "--latest", "--to", "4").output == "a\t1\nb\t2\n"
    (_, line) = here("read", "--bootstrap-server", server, "--latest", "--json").output.splitlines()
    shown = json.loads(line)
    del shown["timestamp"]
    assert shown == {"offset": 6, "epoch": 1, "key": "a", "value": "4", "headers": [["h", "5"]]}


@pytest.mark.parametrize("option", [["--from", "1"], ["--follow"], ["--control"]])
def test_newest_records_are_of_the_whole_log(here: KraftInProcess, shelf: str, option: list[str]) -> None:
    done = here("read", "--bootstrap-server", shelf, "--latest", *option)

    assert (done.exit_code, done.output) == (2, "")
    assert "--latest reads the whole log up to --to: remove --from, --follow and --control" in done.errors


@pytest.fixture
def compacting(tmp_path: Path) -> Iterator[NodesInProcess]:
    configurations = voters_properties(
        tmp_path,
        voters=1,
        cleanup__policy="compact",
        metadata__log__max__record__bytes__between__snapshots="2000",
        metadata__max__retention__bytes="2000",
        min__cleanable__dirty__ratio="0.1",
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.mark.rule("READ-8")
def test_state_of_a_compacted_log_is_shown_and_an_earlier_one_refused(
    here: KraftInProcess, compacting: NodesInProcess
) -> None:
    server = str(compacting.endpoint(1))
    with compacting.client() as client:
        for round_ in range(200):
            client.append(build_batch([Record(key=b"%d" % (round_ % 7), value=b"round %d" % round_)]))
        eventually(lambda: bool(client.fetch(Offset(0)).compacted_end), "a log that begins with a snapshot")
        appended = client.append(build_batch([Record(key=b"%d" % (200 % 7), value=b"round 200")]))
        assert client.fetch(appended.base_offset).compacted_end is None, "no snapshot has this record"

    newest = here("read", "--bootstrap-server", server, "--latest")
    plain = here("read", "--bootstrap-server", server)
    refused = here("read", "--bootstrap-server", server, "--latest", "--to", "5")

    assert newest.output.splitlines() == [f"{round_ % 7}\tround {round_}" for round_ in range(194, 201)]
    assert plain.output.endswith(newest.output)
    assert len(plain.output.splitlines()) < 200
    assert "--to 5: the newest records as of offset 5 are not all left: the log is compacted up to" in refused.errors
    assert here("read", "--bootstrap-server", server, "--to", "5").output == "", "none of these records is left"
