"""The processor time of a thread, which the kernel is seldom asked for."""

from __future__ import annotations

from raft.node.thread_clock import ThreadClock


class Machine:
    """A thread that works, and other processes that run in between.

    Attributes:
        elapsed_s: the time of the monotonic clock.
        used_s: the processor time of the thread.
        asked: how many times the kernel was asked for it.
    """

    def __init__(self) -> None:
        self.elapsed_s, self.used_s, self.asked = 1_000.0, 5.0, 0
        self.clock = ThreadClock(lambda: self.elapsed_s, self._ask)

    def work(self, seconds: float) -> None:
        self.elapsed_s += seconds
        self.used_s += seconds

    def let_others_work(self, seconds: float) -> None:
        self.elapsed_s += seconds

    def _ask(self) -> float:
        self.asked += 1
        return self.used_s


def test_work_counts_although_the_kernel_is_not_asked() -> None:
    machine = Machine()
    began_s = machine.clock.now_s()

    machine.work(0.000_3)

    assert abs(machine.clock.now_s() - began_s - 0.000_3) < 1e-9
    assert machine.asked == 1


def test_work_of_others_does_not_count_when_the_kernel_is_asked() -> None:
    machine = Machine()
    began_s = machine.clock.now_s()

    machine.let_others_work(0.1)

    assert machine.clock.now_s() == began_s


def test_time_never_goes_back_and_what_was_wrong_is_corrected() -> None:
    machine = Machine()
    began_s = machine.clock.now_s()
    machine.let_others_work(0.000_4)
    wrong_s = machine.clock.now_s()
    machine.work(0.000_2)

    times_s = [wrong_s, machine.clock.now_s()]
    for _ in range(3):
        machine.work(0.000_6)
        times_s.append(machine.clock.now_s())

    assert times_s == sorted(times_s)
    assert abs(times_s[-1] - began_s - 0.002) < 1e-9
