"""The command line of a plan: what it prints, what it keeps, and how to repeat the run."""

from __future__ import annotations

import signal
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from tests.harness.command import do_run, parser_of
from tests.harness.outcome import Outcome
from tests.harness.run import Tell
from tests.workload.verdict import Verdict


def parser() -> ArgumentParser:
    made = parser_of("tests.example", "A run.\n\nMore.")
    made.add_argument("--minutes", type=float, default=10)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--compact", action="store_true")
    made.add_argument("--only", default="")
    return made


def options_of(options: Namespace) -> Namespace:
    if options.only == "earthquake":
        raise ValueError("--only earthquake: expected a part of one of: flood")
    return options


@pytest.mark.parametrize(
    ("arguments", "again"),
    [
        pytest.param([], "--minutes 10 --seed 1", id="defaults"),
        pytest.param(["--minutes", "0.5", "--compact"], "--minutes 0.5 --seed 1 --compact", id="a flag"),
        pytest.param(["--seed", "0", "--only", "a flood"], "--minutes 10 --seed 0 --only 'a flood'", id="a text"),
    ],
)
def test_command_of_a_failed_run_says_how_to_do_it_again_and_keeps_its_files(
    capsys: pytest.CaptureFixture[str], arguments: list[str], again: str
) -> None:
    folders: list[Path] = []

    def fail(_plan: Namespace, folder: Path, tell: Tell) -> Outcome[str]:
        folders.append(folder)
        tell("a fault")
        return Outcome(figures="figures", verdict=Verdict(lost=["A is lost"], doubled=[], broken=[]))

    assert do_run(parser(), options_of, fail, arguments) == 1

    (folder,) = folders
    assert capsys.readouterr().out.splitlines() == [
        "a fault",
        "figures",
        "A is lost",
        "lost 1, doubled 0, invariants broken 0",
        f"again: python -m tests.example {again}",
        f"the logs and the output of all processes are in {folder}",
    ]
    folder.rmdir()


def test_command_of_a_run_in_which_nothing_is_wrong_keeps_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    folders: list[Path] = []

    def succeed(_plan: Namespace, folder: Path, _tell: Tell) -> Outcome[None]:
        folders.append(folder)
        (folder / "log").touch()
        return Outcome(figures=None, verdict=Verdict(lost=[], doubled=[], broken=[]))

    assert do_run(parser(), options_of, succeed, []) == 0

    assert not folders[0].exists()
    assert capsys.readouterr().out == "lost 0, doubled 0, invariants broken 0\nnothing is wrong\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_keeps_no_files(capsys: pytest.CaptureFixture[str], number: signal.Signals) -> None:
    folders: list[Path] = []

    def wait(_plan: Namespace, folder: Path, _tell: Tell) -> Outcome[None]:
        folders.append(folder)
        signal.raise_signal(number)
        raise AssertionError("the signal was ignored")

    before = signal.getsignal(signal.SIGTERM)

    assert do_run(parser(), options_of, wait, []) == 130

    assert not folders[0].exists()
    assert signal.getsignal(signal.SIGTERM) is before
    assert "interrupted: all processes are killed" in capsys.readouterr().out


def test_options_from_which_no_plan_is_made_are_an_error_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(_plan: Namespace, _folder: Path, _tell: Tell) -> Outcome[None]:
        raise AssertionError("there is no plan")

    with pytest.raises(SystemExit):
        do_run(parser(), options_of, run, ["--only", "earthquake"])

    assert "--only earthquake: expected a part of one of: flood" in capsys.readouterr().err
