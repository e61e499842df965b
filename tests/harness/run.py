"""A run while it goes on: the faults so far, what is wrong so far, and the logs that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError

from raft.errors import RaftError
from tests.harness.quorum_checks import wrong_after_stop, wrong_while_running
from tests.processes.node_quorum import NodeQuorum
from tests.workload.replica import Replica, differences

Tell = Callable[[str], None]
"""Gets a line while a run goes on."""

_FAULTS = "faults.txt"
_ENDS = (AssertionError, RaftError, SubprocessError, TimeoutError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedFault:
    """One fault that has ended.

    Fields:
        at_s: when it began, in seconds from the begin of the run.
        kind: its name.
        what: what was done, and to which process.
        recovery_s: the time from its end until clients made progress again; None if the next fault began before.
    """

    at_s: float
    kind: str
    what: str
    recovery_s: float | None


class Run:
    """What one run has shown so far.

    Args:
        folder: exists; gets a list of the faults.
        tell: gets a line after each fault.

    Attributes:
        ended: the faults that have ended.
        complaints: a sentence for each violation.
        is_complete: whether the run has not ended early.
    """

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.ended: list[EndedFault] = []
        self.complaints: list[str] = []
        self.is_complete = False
        self._faults_file = folder / _FAULTS
        self._tell = tell

    @contextmanager
    def to_its_end(self) -> Iterator[None]:
        """Note an error that ends the block early, in place of raising it."""
        try:
            yield
            self.is_complete = True
        except _ENDS as error:
            self.complaints.append(f"the run ended early: {error}")

    def note(self, fault: EndedFault, progress: str) -> None:
        """Note a fault that has ended.

        Args:
            fault: the fault.
            progress: what the clients have done by then.
        """
        self.ended.append(fault)
        line = f"{fault.at_s:6.1f} s  {progress}  {fault.kind}: {fault.what}; {_recovery(fault)}"
        with self._faults_file.open("a") as file:
            print(line, file=file)
        self._tell(line)

    def complain(self, sentences: Iterable[str], *, of: str = "") -> None:
        """Note violations.

        Args:
            sentences: one for each.
            of: what they are about, if the run has more than one of it.
        """
        self.complaints += [f"{of}: {sentence}" if of else sentence for sentence in sentences]

    def look_at(self, quorum: NodeQuorum, *, name: str = "") -> None:
        """Note what is wrong with a quorum all of whose nodes should run.

        Args:
            quorum: serves requests.
            name: of the quorum, if there is more than one.
        """
        self.complain(wrong_while_running(quorum), of=name)

    def log_of(self, quorum: NodeQuorum, *, name: str = "", always_compares: bool = False) -> Replica:
        """Kill a quorum, compare the logs of its nodes, and return the newest one.

        All logs are equal, unless the run ended early. Then the newest one has every committed record.

        Args:
            quorum: no client writes to it any more.
            name: of the quorum, if there is more than one.
            always_compares: whether the logs must be equal although the run ended early.
        """
        quorum.kill()
        replicas = {node_id: Replica.read(node.log_dir) for node_id, node in quorum.nodes.items()}
        if self.is_complete or always_compares:
            self.complain(differences(replicas), of=name)
        self.complain(wrong_after_stop(quorum), of=name)
        return max(replicas.values(), key=lambda replica: replica.end)


def _recovery(fault: EndedFault) -> str:
    return "the next fault strikes at once" if fault.recovery_s is None else f"recovered in {fault.recovery_s:.1f} s"
