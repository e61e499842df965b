"""Which settings an operator should check after a node has halted. The core knows the cause, but not the settings."""

from __future__ import annotations

from collections.abc import Mapping

from raft.core.effects import Halt, HaltCause

_ADVICE: Mapping[HaltCause, str] = {
    HaltCause.KAFKA_CONTROLLER: (
        "To follow that cluster, leave out controller.quorum.voters and set controller.quorum.bootstrap.servers"
    ),
    HaltCause.NOT_A_VOTER: "Check controller.quorum.voters, and whether log.dirs is the directory of this node",
}


def explain(halt: Halt) -> str:
    """Return why the node halted, and which setting to check if one may be the cause."""
    advice = _ADVICE.get(halt.cause)
    return halt.reason if advice is None else f"{halt.reason}. {advice}"
