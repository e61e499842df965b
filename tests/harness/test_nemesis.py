"""Which faults are injected, in which order, and what is noted of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.harness.figures import fault_counts, slowest_recovery_s
from tests.harness.nemesis import Fault, Nemesis, chosen, in_rounds
from tests.harness.run import EndedFault, Run

KINDS = ("node killed", "node suspended", "link cut")
Did = list[str]


def fault(name: str) -> Callable[[Did, Random], AbstractContextManager[str]]:
    @contextmanager
    def do(did: Did, _dice: Random) -> Iterator[str]:
        did.append(name)
        yield f"it is a {name}"
        did.append(f"end of {name}")

    return do


FAULTS: dict[str, Fault[Did]] = {kind: fault(kind) for kind in KINDS}


class ShortNemesis(Nemesis[Did]):
    """Injects faults that end at once."""

    def __init__(self, did: Did, run: Run) -> None:
        super().__init__(did, FAULTS, seed=7, fault_s=(0, 0), run=run, progress=lambda: "9 appends")

    def _recover(self, kind: str, *, is_last: bool) -> float | None:
        return 1.5 if is_last else None


def test_every_kind_of_fault_comes_once_in_a_round() -> None:
    kinds = [*islice(in_rounds(KINDS, seed=5), 2 * len(KINDS))]

    assert sorted(kinds[: len(KINDS)]) == sorted(kinds[len(KINDS) :]) == sorted(KINDS)
    assert kinds[: len(KINDS)] != kinds[len(KINDS) :]
    assert kinds == [*islice(in_rounds(KINDS, seed=5), 2 * len(KINDS))]


def test_faults_end_before_the_next_one_and_each_is_noted(tmp_path: Path) -> None:
    did, told = Did(), Did()
    run = Run(tmp_path, told.append)

    ShortNemesis(did, run).inject(2)

    first, second = islice(in_rounds(KINDS, seed=7), 2)
    assert did == [first, f"end of {first}", second, f"end of {second}"]
    assert [line.partition("s  ")[2] for line in told] == [
        f"9 appends  {first}: it is a {first}; the next fault strikes at once",
        f"9 appends  {second}: it is a {second}; recovered in 1.5 s",
    ]
    assert (tmp_path / "faults.txt").read_text().splitlines() == told
    assert fault_counts(run.ended) == dict.fromkeys(sorted((first, second)), 1)
    assert slowest_recovery_s(run.ended) == 1.5


def test_each_kind_is_injected_once_however_short_the_time_is(tmp_path: Path) -> None:
    did = Did()

    ShortNemesis(did, Run(tmp_path, print)).inject_for(0)

    assert sorted(did[::2]) == sorted(KINDS)


def test_faults_are_chosen_by_a_part_of_their_names() -> None:
    assert [*chosen(FAULTS, "node")] == ["node killed", "node suspended"]
    assert [*chosen(FAULTS, "")] == [*KINDS]
    with pytest.raises(ValueError, match="--only earthquake: expected a part of one of: node killed, node suspended"):
        chosen(FAULTS, "earthquake")


def fail(reason: str) -> None:
    raise AssertionError(reason)


def test_error_that_ends_a_run_early_is_a_complaint(tmp_path: Path) -> None:
    run = Run(tmp_path, print)

    with run.to_its_end():
        fail("no leader")
    run.complain(["a log differs"], of="sink")

    assert not run.is_complete
    assert run.complaints == ["the run ended early: no leader", "sink: a log differs"]
    assert slowest_recovery_s([EndedFault(at_s=0, kind="a", what="b", recovery_s=None)]) == 0.0
