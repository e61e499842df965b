"""`kraft append`: one record, or one per line of standard input."""

from __future__ import annotations

import pytest

from raft.client import Client
from raft.records.record import Record
from tests.cli.in_process import KraftInProcess
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.waiting import eventually
from tests.processes.commands import KRAFT
from tests.processes.finished import run_to_end
from tests.processes.kraft import kraft, start_kraft
from tests.workload.committed import read_all

Pair = tuple[bytes | None, bytes | None]


def pairs(records: list[Record]) -> list[Pair]:
    return [(record.key, record.value) for record in records]


def test_value_is_appended(client: Client, server: str) -> None:
    done = kraft("append", "--bootstrap-server", server, "hello")

    assert (done.exit_code, done.output, done.errors) == (0, "appended 1 record at offset 1\n", "")
    assert pairs(read_all(client)) == [(None, b"hello")]


@pytest.mark.parametrize(
    ("arguments", "record"),
    [
        pytest.param(["--key", "k", "v"], (b"k", b"v"), id="with a key"),
        pytest.param(["--key", "", "v"], (b"", b"v"), id="with an empty key"),
        pytest.param([""], (None, b""), id="empty"),
        pytest.param(["a\tb"], (None, b"a\tb"), id="a TAB is no sign here"),
        pytest.param(["--", "-v"], (None, b"-v"), id="behind a dash"),
        pytest.param(["b\xe4r"], (None, "b\xe4r".encode()), id="not ASCII"),
    ],
)
def test_value_is_appended_as_it_is(
    here: KraftInProcess, client: Client, server: str, arguments: list[str], record: Pair
) -> None:
    done = here("append", "--bootstrap-server", server, *arguments)

    assert done.exit_code == 0
    assert pairs(read_all(client)) == [record]


@pytest.mark.parametrize(
    ("stdin", "records"),
    [
        pytest.param(b"a\nb\n", [(None, b"a"), (None, b"b")], id="lines"),
        pytest.param(b"a\nb", [(None, b"a"), (None, b"b")], id="no line feed at the end"),
        pytest.param(
            b"k\tv\n\tv\nk\t\nk\tv\tw\n", [(b"k", b"v"), (b"", b"v"), (b"k", b""), (b"k", b"v\tw")], id="keys"
        ),
        pytest.param(b"\n\na\n", [(None, b""), (None, b""), (None, b"a")], id="empty lines"),
        pytest.param(b"a\r\nb\r\n", [(None, b"a"), (None, b"b")], id="lines of Windows"),
        pytest.param(b"\x00\xff\xfe\n", [(None, b"\x00\xff\xfe")], id="no text"),
        pytest.param(b"x" * 700_000 + b"\n", [(None, b"x" * 700_000)], id="one long line"),
    ],
)
def test_lines_are_appended(client: Client, server: str, stdin: bytes, records: list[Pair]) -> None:
    done = kraft("append", "--bootstrap-server", server, stdin=stdin)

    assert (done.exit_code, done.errors) == (0, "")
    assert pairs(read_all(client)) == records
    assert done.output.startswith("appended ")


def test_argument_that_is_no_utf8_is_appended_byte_by_byte(client: Client, server: str) -> None:
    done = kraft("append", "--bootstrap-server", server, "--key", b"\xfe", b"\xff\x80")

    assert (done.exit_code, done.errors) == (0, "")
    assert pairs(read_all(client)) == [(b"\xfe", b"\xff\x80")]


def test_closed_standard_input_is_refused(server: str) -> None:
    command = f"{' '.join(KRAFT)} append --bootstrap-server {server} <&-"
    done = run_to_end("kraft", ["sh", "-c", command])

    assert done.exit_code == 1
    assert done.errors == "kraft: standard input is closed: give a value as argument\n"


def test_nothing_on_standard_input_is_nothing_appended(client: Client, server: str) -> None:
    done = kraft("append", "--bootstrap-server", server, stdin=b"")

    assert (done.exit_code, done.output) == (0, "nothing appended\n")
    assert read_all(client) == []


def test_many_lines_are_appended_in_their_order(client: Client, server: str) -> None:
    lines = [b"line %d" % number for number in range(30_000)]

    done = kraft("append", "--bootstrap-server", server, stdin=b"\n".join(lines))

    assert done.output == "appended 30000 records at offsets 1 to 30000\n"
    assert [record.value for record in read_all(client)] == lines


def test_line_is_appended_when_the_input_pauses(client: Client, server: str) -> None:
    with start_kraft("append", "--bootstrap-server", server) as appending:
        appending.write(b"first\nhalf a li")
        eventually(lambda: pairs(read_all(client)) == [(None, b"first")], "the whole line is there")
        appending.write(b"ne")
        appending.close_input()

        assert appending.wait() == 0
    assert pairs(read_all(client)) == [(None, b"first"), (None, b"half a line")]


@pytest.mark.rule("CLIENT-9")
def test_lines_are_of_one_idempotent_producer(nodes: NodesInProcess, client: Client, server: str) -> None:
    kraft("append", "--bootstrap-server", server, stdin=b"a\nb\n")

    (history,) = nodes.running[1].core._state.writers._producers.values()
    assert [(written.epoch, written.sequence, written.record_count) for written in history] == [(0, 0, 2)]


def test_line_that_is_too_large_is_refused_and_the_error_names_what_was_appended(client: Client, server: str) -> None:
    with start_kraft("append", "--bootstrap-server", server) as appending:
        appending.write(b"fine\n")
        eventually(lambda: read_all(client), "the first line is there")
        appending.write(b"x" * (9 << 20))
        appending.close_input()

        assert appending.wait() == 1
        words = appending.errors
    assert words.startswith("kraft: a batch of 94372")
    assert "raise --max-request-size here and message.max.bytes on the nodes" in words
    assert words.endswith(" (appended 1 record at offset 1 before it)\n")
    assert pairs(read_all(client)) == [(None, b"fine")]


def test_error_names_what_was_appended_of_lines_that_came_together(client: Client, server: str) -> None:
    lines = [b"%d" % number * 900 for number in range(3)]

    done = kraft(
        "append", "--bootstrap-server", server, "--max-request-size", "1500", stdin=b"\n".join([*lines, bytes(5_000)])
    )

    assert done.exit_code == 1
    assert done.errors.endswith(" (appended 3 records at offsets 1 to 3 before it)\n")
    assert [value for _, value in pairs(read_all(client))] == lines


def test_line_that_is_too_large_for_the_nodes_is_refused_too(client: Client, server: str) -> None:
    line = b"x" * (20 << 20)

    done = kraft("append", "--bootstrap-server", server, "--max-request-size", "50000000", stdin=line)

    assert done.exit_code == 1
    assert "raise --max-request-size here and message.max.bytes on the nodes" in done.errors
    assert pairs(read_all(client)) == []


def test_key_goes_with_a_value(here: KraftInProcess, server: str) -> None:
    done = here("append", "--bootstrap-server", server, "--key", "k")

    assert done.exit_code == 2
    assert "--key needs a value: on standard input, write the key and a TAB before each value" in done.errors
