"""A test writes to a process and reads from it line by line, and the process ends with its block."""

from __future__ import annotations

import sys

import pytest

from tests.processes.piped_process import PipedProcess

_ECHO = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
    print("read", line, end="", file=sys.stderr, flush=True)
print("no line feed at the end", end="")
"""


def echo() -> PipedProcess:
    return PipedProcess("echo", [sys.executable, "-c", _ECHO])


def test_process_prints_a_line_for_each_line_that_it_gets() -> None:
    with echo() as process:
        process.write(b"one\ntwo\n")

        assert [process.line(), process.line()] == ["one", "two"]
        process.close_input()
        assert process.line() == "no line feed at the end"
        assert process.line() == ""
        assert process.wait() == 0
        assert process.errors == "read one\nread two\n"


def test_rest_of_output_has_what_was_not_read_as_a_line() -> None:
    with echo() as process:
        process.write(b"one\ntwo\nthree\n")
        process.close_input()
        first = process.line()

        assert (first, process.rest_of_output()) == ("one", "two\nthree\nno line feed at the end")


def test_line_fails_when_the_process_prints_nothing_in_time() -> None:
    with echo() as process, pytest.raises(TimeoutError, match="echo prints nothing"):
        process.line(within_s=0.1)


def test_process_that_waits_for_input_is_killed_at_the_end_of_its_block() -> None:
    with echo() as process:
        assert process.is_running

    assert not process.is_running
