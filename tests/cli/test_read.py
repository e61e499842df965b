"""`kraft read`: committed records of a range, or all that follow."""

from __future__ import annotations

import json
import signal

import pytest

from raft.client import Client
from raft.records import produced
from tests.cli.in_process import KraftInProcess
from tests.columns.batches import with_records
from tests.node.harness.batches import batch_of
from tests.processes.kraft import kraft, start_kraft

IN_WORDS = ["plain", "k\tb\xe4r", "\\xff\t\\xfe", "gone\tnull", ""]


def test_all_records_are_shown_as_key_and_value(shelf: str) -> None:
    done = kraft("read", "--bootstrap-server", shelf)

    assert (done.exit_code, done.output.split("\n"), done.errors) == (0, [*IN_WORDS, ""], "")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param(["--from", "earliest"], IN_WORDS, id="from the start"),
        pytest.param(["--from", "0"], IN_WORDS, id="from the control record"),
        pytest.param(["--from", "3"], IN_WORDS[2:], id="from the middle of a batch"),
        pytest.param(["--to", "3"], IN_WORDS[:2], id="to the middle of a batch"),
        pytest.param(["--from", "2", "--to", "4"], IN_WORDS[1:3], id="a part of a batch"),
        pytest.param(["--from", "2", "--to", "2"], [], id="nothing"),
        pytest.param(["--to", "latest"], IN_WORDS, id="to the end"),
        pytest.param(["--to", "6"], IN_WORDS, id="to the end by its number"),
        pytest.param(["--from", "latest"], [], id="from the end"),
    ],
)
def test_part_of_the_log_is_shown(here: KraftInProcess, shelf: str, options: list[str], shown: list[str]) -> None:
    done = here("read", "--bootstrap-controller", shelf, *options)

    assert done.exit_code == 0
    assert done.output.split("\n")[:-1] == shown


def test_batch_that_cannot_be_read_ends_with_its_offset_and_the_cause_in_one_line(
    here: KraftInProcess, client: Client, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage = with_records(batch_of(b"?", b"?"), b"garbage" * 2)
    client.append(batch_of(b"before"))
    with monkeypatch.context() as patch:
        # As leaders did that did not check records.
        patch.setattr(produced, "_check_records", lambda *_: None)
        client.append(garbage)
    client.append(batch_of(b"after"))

    done = here("read", "--bootstrap-server", server)

    assert (done.exit_code, done.output) == (1, "before\n")
    (line,) = done.errors.splitlines()
    assert "the batch with offset 2 cannot be read: record at byte 0" in line
    assert here("read", "--bootstrap-server", server, "--from", "4").output == "after\n"


def test_records_are_shown_as_json(here: KraftInProcess, shelf: str) -> None:
    done = here("read", "--bootstrap-server", shelf, "--json")

    common = {"epoch": 1}
    assert [json.loads(line) for line in done.output.splitlines()] == [
        {"offset": 1, "timestamp": 1000, "key": None, "value": "plain", **common},
        {"offset": 2, "timestamp": 2000, "key": "k", "value": "b\xe4r", **common},
        {
            "offset": 3,
            "timestamp": 3000,
            "key": {"base64": "/w=="},
            "value": {"base64": "/g=="},
            "headers": [["h", "1"], ["h", None]],
            **common,
        },
        {"offset": 4, "timestamp": 4000, "key": "gone", "value": None, **common},
        {"offset": 5, "timestamp": 5000, "key": None, "value": "", **common},
    ]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.rule("CONTROL-5")
def test_control_records_are_shown_on_demand(here: KraftInProcess, shelf: str, as_json: bool) -> None:
    done = here("read", "--bootstrap-server", shelf, "--control", "--to", "1", *(["--json"] if as_json else []))

    (line,) = done.output.splitlines()
    change = {"type": "LeaderChange", "version": 0, "leaderId": 1}
    if as_json:
        record = json.loads(line)
        assert (record["offset"], record["epoch"]) == (0, 1)
        assert record["control"].items() >= change.items()
    else:
        assert line.startswith("# offset 0, epoch 1: ")
        assert json.loads(line.removeprefix("# offset 0, epoch 1: ")).items() >= change.items()


def test_read_that_would_end_before_it_starts_is_refused(here: KraftInProcess, shelf: str) -> None:
    done = here("read", "--bootstrap-server", shelf, "--from", "4", "--to", "2")

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors == "kraft: --from 4 is after --to 2: expected a start up to the end\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--from", "soon"], "--from soon: expected earliest, latest or an offset of 0 or more"),
        (["--from", "-1"], "--from -1: expected earliest, latest or an offset of 0 or more"),
        (["--to", "earliest"], "--to earliest: expected latest or an offset of 0 or more"),
        (["--to", "1.5"], "--to 1.5: expected latest or an offset of 0 or more"),
        (["--follow", "--to", "5"], "--follow has no end: give --follow or --to"),
        (["--timeout-ms", "0"], "--timeout-ms"),
    ],
)
def test_wrong_usage_is_exit_code_2(here: KraftInProcess, shelf: str, options: list[str], words: str) -> None:
    done = here("read", "--bootstrap-server", shelf, *options)

    assert (done.exit_code, done.output) == (2, "")
    assert words in done.errors


def test_followed_log_is_shown_as_it_grows(client: Client, server: str) -> None:
    client.append(batch_of(b"old"))
    with start_kraft("read", "--bootstrap-server", server, "--follow") as reading:
        shown = [reading.line()]
        for value in (b"one", b"two"):
            client.append(batch_of(value))
            shown.append(reading.line())
        reading.signal(signal.SIGINT)
        exit_code = reading.wait()

        assert shown == ["old", "one", "two"]
        assert (exit_code, reading.rest_of_output(), reading.errors) == (130, "", "")


def test_follower_from_the_end_sees_only_what_is_new(client: Client, server: str) -> None:
    client.append(batch_of(b"old"))
    with start_kraft("read", "--bootstrap-server", server, "--follow", "--from", "2", "--json") as reading:
        client.append(batch_of(b"new"))

        assert json.loads(reading.line())["value"] == "new"


def test_command_ends_without_an_error_when_the_reader_of_its_output_ends(client: Client, server: str) -> None:
    for _ in range(20):
        client.append(batch_of(*[b"x" * 100] * 1000))
    with start_kraft("read", "--bootstrap-server", server) as reading:
        first = reading.line()
        reading.close_output()

        assert reading.wait() == 0
        assert reading.errors == ""
        assert first == "x" * 100


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_offset_past_the_end_is_refused(here: KraftInProcess, shelf: str, option: str) -> None:
    done = here("read", "--bootstrap-server", shelf, option, "7")

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors == f"kraft: {option} 7 is after the end of the log, expected at most 6\n"
