"""A short run with every kind of attack; and the violations of a run, and the output of the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from raft.types import Offset
from tests.harness.outcome import Outcome
from tests.harness.run import Tell
from tests.hostile import __main__ as command
from tests.hostile.attacked_quorum import Observation
from tests.hostile.attacks.every import attacks_of
from tests.hostile.figures import Figures
from tests.hostile.identity import Identity
from tests.hostile.phase import Phase
from tests.hostile.run import Plan, run
from tests.hostile.scene import Scene
from tests.hostile.security_counts import NO_COUNTS, SecurityCounts
from tests.hostile.tally import Tally
from tests.hostile.verdict import BUSY_PROCESSES, complaints, late
from tests.processes.endings import left_behind
from tests.workload.history import Append
from tests.workload.verdict import Verdict

SHORT = {
    Identity.ANYONE: Plan(seed=1, duration_s=8),
    Identity.STRANGER: Plan(seed=1, duration_s=7, identity=Identity.STRANGER),
    Identity.CLIENT: Plan(seed=1, duration_s=7, identity=Identity.CLIENT),
    Identity.OBSERVER: Plan(seed=1, duration_s=7, identity=Identity.OBSERVER),
}
MS = 1_000_000
MIB = 1 << 20


def observed(
    *,
    leader: tuple[int, int] = (1, 1),
    peak_mib: int = 50,
    role_changes: int = 5,
    logged: int = 100,
    counts: SecurityCounts = NO_COUNTS,
) -> Observation:
    return Observation(
        leader=leader,
        peak_bytes={1: peak_mib * MIB},
        role_changes=role_changes,
        logged_bytes={1: logged},
        counts=counts,
    )


CALM = Phase(appends=100, clients=4, p50_ms=5, p99_ms=10, slowest_ms=20, longest_gap_ms=8)
FINE = Figures(
    quiet=CALM,
    hostile=replace(CALM, p99_ms=20),
    control=replace(CALM, p99_ms=15),
    begin=observed(),
    quiet_end=observed(),
    end=observed(peak_mib=80),
    tally=Tally(rounds=Counter(SilentConnections=7), connections=7, open_at_most=3),
)


def append(client: str, number: int, *, invoked_ms: int, acknowledged_ms: int | None, offset: int | None) -> Append:
    return Append(
        client=client,
        value=f"{client}-{number}".encode(),
        invoked_ns=invoked_ms * MS,
        acknowledged_ns=None if acknowledged_ms is None else acknowledged_ms * MS,
        offset=None if offset is None else Offset(offset),
    )


@pytest.mark.parametrize("identity", [pytest.param(identity, id=identity.value) for identity in Identity])
@pytest.mark.rule("CALLER-1", "TEST-8", "AUTH-4", "AUTH-6", "AUTH-8", "AUTH-10", "AUTH-12", "ACL-1", "ACL-3", "ACL-6")
def test_honest_clients_continue_beside_a_hostile_neighbour(tmp_path: Path, identity: Identity) -> None:
    plan = SHORT[identity]

    outcome = run(plan, tmp_path, print)

    figures = outcome.figures
    print(figures)
    assert outcome.verdict.is_fine, "\n".join(
        [str(figures), str(outcome.verdict), f"the logs and the output of the nodes are in {tmp_path}"]
    )
    assert figures is not None, "the run has not ended early"
    assert set(figures.tally.rounds) == set(attacks_of(identity))
    assert figures.hostile.clients == plan.clients
    assert not left_behind(tmp_path)


def test_phase_counts_what_was_acknowledged_in_it() -> None:
    appends = [
        append("a", 0, invoked_ms=0, acknowledged_ms=5, offset=0),
        append("a", 1, invoked_ms=8, acknowledged_ms=10, offset=1),
        append("b", 0, invoked_ms=9, acknowledged_ms=13, offset=2),
        append("b", 1, invoked_ms=14, acknowledged_ms=None, offset=None),
        append("a", 2, invoked_ms=19, acknowledged_ms=25, offset=3),
    ]

    phase = Phase.of(appends, begin_ns=9 * MS, end_ns=20 * MS)

    assert phase == Phase(appends=2, clients=2, p50_ms=4, p99_ms=4, slowest_ms=4, longest_gap_ms=7)


@pytest.mark.parametrize(
    ("changed", "sentences"),
    [
        pytest.param({}, [], id="no violation"),
        pytest.param({"end": observed(leader=(2, 2))}, ["leader and epoch changed from (1, 1) to (2, 2)"], id="leader"),
        pytest.param({"end": observed(role_changes=6)}, ["1 role changes"], id="pre-vote"),
        pytest.param({"end": observed(peak_mib=86)}, ["peak memory of node 1: 86 MiB, 50 MiB"], id="memory"),
        pytest.param(
            {"end": replace(observed(), longest_step_ms=51.0)}, ["a step of an event loop took 51 ms"], id="step"
        ),
        pytest.param({"end": observed(logged=1 << 20)}, ["node 1 logged 1048476 bytes"], id="output"),
        pytest.param({"hostile": replace(CALM, clients=3)}, ["3 of 4 clients had appends acknowledged"], id="client"),
        pytest.param(
            {"identity": Identity.STRANGER, "end": observed(counts=SecurityCounts(failed=3, authenticated=5))},
            ["5 names were proved"],
            id="a stranger proves a name",
        ),
        pytest.param(
            {"identity": Identity.STRANGER, "tally": replace(FINE.tally, received_at_most=20_000)},
            ["a stranger received 20000 bytes"],
            id="a stranger reads records",
        ),
        pytest.param(
            {"identity": Identity.STRANGER, "tally": Tally(ended=Counter(WrongProofs=2))},
            ["counted none as dropped", "counted none as failed"],
            id="wrong proofs are not counted",
        ),
        pytest.param(
            {"identity": Identity.CLIENT, "tally": Tally(ended=Counter(ForbiddenRequests=2))},
            ["counted none as refused"],
            id="refused requests are not counted",
        ),
    ],
)
def test_verdict_names_violations_of_the_nodes(changed: Mapping[str, object], sentences: list[str]) -> None:
    found = [*complaints(replace(FINE, **changed), allowance_bytes=10 * MIB)]  # type: ignore[arg-type]

    assert len(found) == len(sentences)
    assert all(expected in sentence for expected, sentence in zip(sentences, found, strict=True))


def test_verdict_names_times_that_are_too_long_for_so_many_processors() -> None:
    slow = replace(
        FINE,
        hostile=replace(CALM, p99_ms=23, longest_gap_ms=2_001),
    )

    assert [*late(FINE, processors=BUSY_PROCESSES)] == []
    assert [sentence[:18] for sentence in late(slow, processors=BUSY_PROCESSES)] == [
        "p99 of appends: 1.",
        "no acknowledgement",
    ]
    assert [sentence[:18] for sentence in late(slow, processors=BUSY_PROCESSES - 1)] == ["no acknowledgement"]


def test_scene_and_tally_survive_conversion_to_json() -> None:
    scene = Scene(
        client_ports={1: 10, 2: 20},
        voter_ports={1: 11, 2: 21},
        metrics_ports={1: 12, 2: 22},
        leader_id=2,
        leader_epoch=5,
        identity=Identity.STRANGER,
        folder="/somewhere",
    )

    assert Scene.from_json(scene.to_json()) == scene
    assert Tally.from_json(FINE.tally.to_json()) == FINE.tally
    assert (scene.leader.port, [follower.port for follower in scene.followers]) == (20, [10])


@pytest.mark.parametrize(
    ("figures", "lost", "exit_code"),
    [
        pytest.param(FINE, [], 0, id="no violation"),
        pytest.param(FINE, ["an append is lost"], 1, id="an append is lost"),
        pytest.param(replace(FINE, hostile=replace(CALM, longest_gap_ms=2_001)), [], 1, id="too slow"),
        pytest.param(None, ["an append is lost"], 1, id="the run has ended early"),
    ],
)
def test_command_prints_figures_and_verdict_and_keeps_the_files_of_a_run_that_failed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    figures: Figures | None,
    lost: list[str],
    exit_code: int,
) -> None:
    seen: list[tuple[Plan, Path]] = []

    def pretend(plan: Plan, folder: Path, _tell: Tell) -> Outcome[Figures | None]:
        seen.append((plan, folder))
        return Outcome(figures=figures, verdict=Verdict(lost=lost, doubled=[], broken=[]))

    monkeypatch.setattr(command, "run", pretend)

    arguments = ["--seconds", "5", "--seed", "3", "--neighbour", "stranger", "--attacks", "SilentConnections"]
    assert command.main(arguments) == exit_code

    ((plan, folder),) = seen
    said = capsys.readouterr().out
    assert plan == Plan(seed=3, duration_s=5, identity=Identity.STRANGER, attacks=["SilentConnections"])
    assert ("SilentConnections  7 rounds\n" in said) is (figures is not None)
    assert folder.exists() is (str(folder) in said) is (exit_code == 1)
    assert f"lost {len(lost)}, doubled 0" in said
    if exit_code:
        assert "again: python -m tests.hostile --seconds 5 --seed 3 --neighbour stranger" in said
        assert "--attacks SilentConnections" in said
        folder.rmdir()
    else:
        assert "nothing is wrong" in said
