"""Which settings an operator should check after a node has halted. The core knows the cause, but not the settings."""

from __future__ import annotations

from collections.abc import Mapping

from raft.core.effects import Halt, HaltCause

_ADVICE: Mapping[HaltCause, str] = {
    HaltCause.OTHER_VOTERS: (
        "Set controller.quorum.voters of all voters to the same voters as the log names; if this node should only "
        "follow, leave it out of them and set controller.quorum.bootstrap.servers"
    ),
    HaltCause.KAFKA_CONTROLLER: (
        "To follow that cluster, leave out controller.quorum.voters and set controller.quorum.bootstrap.servers"
    ),
    HaltCause.NOT_AUTHORIZED: (
        "Check that raft.authorization.file of those nodes lists the principal of this node below [allow.peer], that "
        "this node proves that name, and that controller.quorum.voters names their listeners for voters"
    ),
    HaltCause.ELECTION_STATE_LOST: (
        "Do not copy an older quorum-state. 'What stops a node' in the documentation (docs/halts.md) says how to "
        "write a new one, and 'kraft restore' restores a whole quorum from a backup"
    ),
    HaltCause.NOT_A_VOTER: "Check controller.quorum.voters, and whether log.dirs is the directory of this node",
}


def explain(halt: Halt) -> str:
    """Return why the node halted, and which setting to check if one may be the cause."""
    advice = _ADVICE.get(halt.cause)
    return halt.reason if advice is None else f"{halt.reason}. {advice}"
