"""The fuzzer finds each kind of violation, prints how to repeat it, and always makes the same inputs."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.decoders import DECODERS
from tests.fuzz.soak import Report, soak
from tests.fuzz.trial import trial

SEED = 5


def soak_broken(name: str) -> Report:
    return soak(
        seed=SEED, input_count=50, chunk_size=50, table=f"tests.fuzz.broken_decoders:{name}", processor_time_s=0.5
    )


@pytest.mark.parametrize(
    ("table", "what"),
    [
        pytest.param("RAISES", "KeyError: 'an unknown tag'", id="another error"),
        pytest.param("PANICS", "_PanicError", id="a BaseException"),
        pytest.param("OVERALLOCATES", "the bound is", id="memory"),
        pytest.param("OVERALLOCATES_IN_ARROW", "the bound is", id="memory of Arrow"),
        pytest.param(
            "OVERALLOCATES_OUTSIDE_PYTHON",
            "OSError: [Errno 12]",
            id="memory that Python does not see",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits an address space"),
        ),
        pytest.param("CRASHES", "the process ended with SIGSEGV", id="a crash"),
        pytest.param("HANGS", "too much processor time", id="an endless loop"),
    ],
)
def test_fuzzer_names_input_and_violation_when_a_decoder_violates_its_contract(table: str, what: str) -> None:
    report = soak_broken(table)

    assert report.violation is not None
    assert what in report.violation.what
    again = f"python -m tests.fuzz --seed {SEED} --first {report.violation.number} --inputs 1"
    assert again in str(report.violation)
    assert report.violation.content.hex() in str(report.violation)


def test_fuzzer_makes_the_same_inputs_when_asked_again() -> None:
    once, again = ([trial(DECODERS, SEED, number).content for number in range(200)] for _ in "12")

    assert once == again
    assert len(set(once)) > 150


def test_command_prints_progress_and_result(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = main(["--inputs", "100", "--seed", str(SEED)])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 0
    assert lines[0].lstrip().startswith("100 of 100 inputs, ")
    assert len([line for line in lines if " accepted: " in line]) == len(DECODERS)
    assert lines[-1] == f"seed {SEED}: ok"
