"""The options of a soak, and its kinds of faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.harness.faults import (
    cut_follower,
    cut_inbound_of_leader,
    cut_leader,
    cut_link,
    cut_outbound_of_leader,
    flood_all,
    half_open_connections,
    isolate_leader,
    kill_all,
    kill_follower,
    kill_leader,
    kill_leader_of_one_behind,
    kill_leader_of_two,
    reset_connections,
    shut_down_leader,
    stop_follower,
    stop_leader,
)
from tests.harness.nemesis import Fault, chosen
from tests.harness.planted import serve_with
from tests.harness.quorum import Quorum
from tests.harness.security_faults import SECURITY_FAULTS

FAULTS: Mapping[str, Fault[Quorum]] = {
    "leader killed": kill_leader,
    "follower killed": kill_follower,
    "all killed": kill_all,
    "leader shut down": shut_down_leader,
    "leader stopped": stop_leader,
    "follower stopped": stop_follower,
    "leader partitioned": cut_leader,
    "leader isolated": isolate_leader,
    "follower partitioned": cut_follower,
    "leader receives nothing": cut_inbound_of_leader,
    "leader sends nothing": cut_outbound_of_leader,
    "link cut": cut_link,
    "leader killed, follower stopped": kill_leader_of_two,
    "follower stopped, then leader killed": kill_leader_of_one_behind,
    "connections reset": reset_connections,
    "connections half open": half_open_connections,
    "all flooded": flood_all,
}
"""The kinds of faults of every quorum; a secured one has `SECURITY_FAULTS` too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Options of a run.

    Fields:
        seed: decides the order of the faults and what clients do, but not how processes and threads interleave.
        duration_s: how long faults are injected; at least one of each kind, however short this is.
        longest_fault_s: the longest duration of a fault.
        writers: how many clients write.
        most_values: of one request of the clients that do keyed and multipart writes.
        compacts: whether the nodes compact their logs.
        is_secured: whether clients and voters prove their names; None for every second seed.
        only: a part of the names of the kinds of faults; empty for all.
        planted_bug: a name in `tests.harness.planted.SECURITY_BUGS`; None for none.
    """

    seed: int
    duration_s: float
    longest_fault_s: float = 5.0
    writers: int = 10
    most_values: int = 12
    compacts: bool = False
    is_secured: bool | None = None
    only: str = ""
    planted_bug: str | None = None

    @property
    def secures(self) -> bool:
        """Whether the quorum is secured."""
        return self.seed % 2 == 1 if self.is_secured is None else self.is_secured

    @property
    def command(self) -> Sequence[str]:
        """The command that starts a node."""
        return serve_with(self.planted_bug)

    @property
    def faults(self) -> Mapping[str, Fault[Quorum]]:
        """The kinds of faults.

        Raises:
            ValueError: there are none.
        """
        return chosen({**FAULTS, **SECURITY_FAULTS} if self.secures else FAULTS, self.only)
