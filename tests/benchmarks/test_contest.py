"""Contestants take turns."""

from __future__ import annotations

from benchmarks.contest import Measures, Step, constant, take_turns


class Recorder:
    """Runs of any contestant; each measures how many ran before it."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, name: str) -> Measures:
        self.ran.append(name)
        return {"number": len(self.ran)}


def test_contestants_run_in_turn_and_in_reverse_in_every_second_round() -> None:
    recorder = Recorder()
    step = Step(name="step", runs={"ours": lambda: recorder.run("ours"), "peer": lambda: recorder.run("peer")})

    measured = take_turns([step], rounds=2, warm_up=False, progress=lambda _: None)

    assert recorder.ran == ["ours", "peer", "peer", "ours"]
    assert measured == {"step": {"ours": {"number": [1, 4]}, "peer": {"number": [2, 3]}}}


def test_warm_up_round_does_not_count() -> None:
    recorder = Recorder()
    step = Step(name="step", runs={"ours": lambda: recorder.run("ours")})

    measured = take_turns([step], rounds=1, warm_up=True, progress=lambda _: None)

    assert recorder.ran == ["ours", "ours"]
    assert measured == {"step": {"ours": {"number": [2]}}}


def test_progress_names_round_step_contestant_and_measures() -> None:
    said: list[str] = []

    take_turns(
        [Step(name="step", runs={"ours": constant({"rows/s": 12.5})})], rounds=1, warm_up=False, progress=said.append
    )

    assert said == ["round 1 of 1: step, ours: 12.5 rows/s"]
