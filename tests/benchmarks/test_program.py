"""A child program that is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.program import Program, ProgramError

_ROOT = Path(__file__).parents[2]
_CHILD = """
import os
from benchmarks.side.calls import answer_calls

def double(number):
    print("this is not an answer")
    return 2 * number

answer_calls({"double": double, "leave": lambda: os._exit(3)})
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with Program(
        "child",
        [sys.executable, "-c", _CHILD],
        environment={"PYTHONPATH": str(_ROOT)},
        folder=tmp_path,
    ) as child:
        yield child


def test_program_returns_the_result_of_each_call(program: Program) -> None:
    assert [program.call("double", number=number) for number in (1, 2)] == [2, 4]


def test_call_that_raises_fails_and_the_next_one_is_answered(program: Program) -> None:
    with pytest.raises(ProgramError, match=r"(?s)child: double: .*TypeError"):
        program.call("double", number=None)

    assert program.call("double", number=4) == 8


def test_call_fails_when_the_program_ends(program: Program) -> None:
    with pytest.raises(ProgramError, match="leave: it has ended"):
        program.call("leave")
