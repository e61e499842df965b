"""The time from a fault of the leader to the next acknowledged append, beside etcd.

A leader that is killed or suspended (SIGSTOP) stays so until the append is acknowledged.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence

from benchmarks.contest import Better, Comparison, Measures, Step, constant
from benchmarks.program import Program
from benchmarks.servers.etcd import Etcd
from benchmarks.servers.quorum import Quorum
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.work import Work

_KILL, _FREEZE = "kill -9", "SIGSTOP"
_SIGNALS = {_KILL: signal.SIGKILL, _FREEZE: signal.SIGSTOP}
_SECONDS = "seconds"
_ETCD = "etcd, kill -9"
_TWO_SECONDS = "2.0 s"


def _comparisons(_sizes: Sizes) -> Sequence[Comparison]:
    killed = "leader killed, stays dead, to the next append"
    frozen = "leader frozen to the next append"
    lower = Better.LOWER
    return [
        Comparison(title=killed, step=_KILL, measure=_SECONDS, peer=_ETCD, better=lower, at_least=0.5, aim=0.3),
        Comparison(title=frozen, step=_FREEZE, measure=_SECONDS, peer=_TWO_SECONDS, better=lower, at_least=1.3, aim=1),
        Comparison(title=frozen, step=_FREEZE, measure=_SECONDS, peer=_ETCD, peer_step=_KILL, better=lower),
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    steps: dict[str, dict[str, Callable[[], Measures]]] = {name: {} for name in _SIGNALS}
    generator, etcd = stage.find(stage.generator), stage.find(stage.etcd)
    for contestant in stage.checkouts:
        quorum = stage.quorum(contestant)
        program = stage.program(contestant, "recovery", quorum.bootstrap_servers)
        for name, runs in steps.items():
            runs[contestant] = _recover(stage, quorum, program, _SIGNALS[name])
    if generator is not None and etcd is not None:
        steps[_KILL][_ETCD] = _recover(stage, etcd, stage.enter(generator.recovery(etcd)), signal.SIGKILL)
    steps[_FREEZE][_TWO_SECONDS] = constant({_SECONDS: 2.0})
    return [Step(name=name, runs=runs) for name, runs in steps.items()]


def _recover(stage: Stage, cluster: Quorum | Etcd, program: Program, fault: signal.Signals) -> Callable[[], Measures]:
    def run() -> Measures:
        leader = cluster.leader()
        recovered = program.call("recover", pid=leader.pid, signal=int(fault))
        if fault is signal.SIGKILL:
            leader.kill()  # A dead child counts as running until it is waited for.
        cluster.recover()
        time.sleep(stage.sizes.settle_s)
        return {_SECONDS: recovered["ms"] / 1000}

    return run


WORK = Work(
    name="failover",
    services=frozenset({Service.ETCD}),
    rounds=lambda sizes: sizes.failover_rounds,
    warms_up=False,
    comparisons=_comparisons,
    steps=_steps,
)
