"""What a client wrote into a record cannot control the terminal of a reader."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from raft.cli.printable import to_json
from raft.client import Client
from raft.printable import printable
from tests.cli.in_process import KraftInProcess
from tests.node.harness.batches import batch_of
from tests.processes.commands import KRAFT, child_environment
from tests.processes.kraft import kraft

HOSTILE = "title\x1b]0;gotcha\x07 c1\x9b2J back\x08\r\nforged del\x7f bidi\u202egnp.exe\u2066 line\u2028end \xe4\tb"
ESCAPED = (
    "title\\x1b]0;gotcha\\x07 c1\\x9b2J back\\x08\\r\\nforged del\\x7f bidi\\u202egnp.exe\\u2066 line\\u2028end \xe4\tb"
)


def test_controls_are_escaped_and_other_text_is_not() -> None:
    assert printable(HOSTILE) == ESCAPED
    assert printable("\\n stays, and so do \u65e5\u672c\u8a9e and \U0001f600") == (
        "\\n stays, and so do \u65e5\u672c\u8a9e and \U0001f600"
    )


def test_json_is_printable_ascii_and_says_the_same() -> None:
    line = to_json({HOSTILE: HOSTILE})

    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line) == {HOSTILE: HOSTILE}


def read_on_a_terminal(server: str, *options: str) -> str:
    """What `kraft read` prints where its standard output is a terminal."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            [*KRAFT, "read", "--bootstrap-server", server, *options],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=child_environment(LC_ALL="C.UTF-8"),
        ) as reading:
            os.close(theirs)
            shown = b""
            try:
                while data := os.read(ours, 1 << 16):
                    shown += data
            except OSError:
                pass  # EIO: the other side of the terminal is closed
            assert reading.wait(30) == 0
    finally:
        os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_record_is_escaped_on_a_terminal_and_raw_in_a_pipe(client: Client, server: str) -> None:
    client.append(batch_of(HOSTILE.encode()))

    assert read_on_a_terminal(server) == f"{ESCAPED}\n"
    assert json.loads(read_on_a_terminal(server, "--json"))["value"] == HOSTILE
    assert kraft("read", "--bootstrap-server", server).output == f"{HOSTILE}\n"


def test_record_in_a_pipe_has_its_own_bytes_whatever_the_locale(client: Client, server: str) -> None:
    client.append(batch_of(HOSTILE.encode()))

    done = kraft("read", "--bootstrap-server", server, LC_ALL="C", PYTHONUTF8="0")

    assert (done.exit_code, done.output) == (0, f"{HOSTILE}\n")


def test_error_is_escaped_too(here: KraftInProcess, tmp_path: Path) -> None:
    done = here("dump-log", str(tmp_path / "\x1b[2J" / "00000000000000000000.log"))

    assert done.exit_code == 1
    assert "\\x1b[2J" in done.errors
    assert "\x1b" not in done.errors


@pytest.mark.parametrize(
    ("name", "content", "trouble"),
    [
        ("quorum-state", b"\xb7\xbc", "expected UTF-8 text, got byte 0xb7 at byte 0"),
        ("leader-epoch-checkpoint", b"0\n1\n\x1b\n", "line 3: expected epoch and start offset, got '\\x1b'"),
        ("recovery-point-offset-checkpoint", b"0\n1\nt 0", "line 3: expected topic, partition and offset, got 't 0'"),
    ],
)
def test_random_bytes_in_a_file_are_an_error_in_plain_words(
    here: KraftInProcess, tmp_path: Path, name: str, content: bytes, trouble: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    assert here("dump-log", str(path)).errors == f"kraft: {path} is damaged: {trouble}\n"


def test_name_of_a_property_is_escaped(here: KraftInProcess, tmp_path: Path) -> None:
    path = tmp_path / "meta.properties"
    path.write_bytes(b"\x1b[2J=x\n")

    assert here("dump-log", str(path)).output == '\\x1b[2J: "x"\n'
