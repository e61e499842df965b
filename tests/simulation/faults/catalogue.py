"""All nemeses."""

from __future__ import annotations

from tests.simulation.faults.clocks import ClockJumps, Stalls
from tests.simulation.faults.connections import HalfOpenConnections, Misdirections, Refusals, Resets
from tests.simulation.faults.crashes import Blackouts, Crashes, NewDisks
from tests.simulation.faults.damages import Damages
from tests.simulation.faults.disks import BitRot, DiskErrors, FullDisks
from tests.simulation.faults.floods import Floods
from tests.simulation.faults.foreign_requests import ForeignRequests, ForgedRequests
from tests.simulation.faults.intruders import Intruders
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.faults.not_tolerated import LostDisks, StaleElectionStates, UnnoticedRot
from tests.simulation.faults.operators import Resignations, Shutdowns
from tests.simulation.faults.partitions import FlappingLinks, Partitions
from tests.simulation.faults.revocations import Revocations
from tests.simulation.faults.successions import Successions
from tests.simulation.faults.suspensions import Suspensions
from tests.simulation.faults.wrong_rules import WrongRules

NEMESES: tuple[type[Nemesis], ...] = (
    Crashes,
    Blackouts,
    Stalls,
    Suspensions,
    ClockJumps,
    Shutdowns,
    Resignations,
    Partitions,
    FlappingLinks,
    Successions,
    Resets,
    HalfOpenConnections,
    Refusals,
    Misdirections,
    ForeignRequests,
    ForgedRequests,
    Floods,
    Intruders,
    Revocations,
    WrongRules,
    DiskErrors,
    FullDisks,
    NewDisks,
    BitRot,
    Damages,
    LostDisks,
    StaleElectionStates,
    UnnoticedRot,
)
