"""The error with which a node halts, and the advice to its operator."""

from __future__ import annotations

import pytest

from raft.core.effects import Halt, HaltCause
from raft.runtime.advice import explain


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        pytest.param(
            HaltCause.KAFKA_CONTROLLER,
            "it happened. To follow that cluster, leave out controller.quorum.voters and set "
            "controller.quorum.bootstrap.servers",
            id="a setting is wrong",
        ),
        pytest.param(
            HaltCause.NOT_AUTHORIZED,
            "it happened. Check that raft.authorization.file of those nodes lists the principal of this node below "
            "[allow.peer], that this node proves that name, and that controller.quorum.voters names their "
            "listeners for voters",
            id="the rules, the name or the listener are wrong",
        ),
        pytest.param(
            HaltCause.OTHER_VOTERS,
            "it happened. Set controller.quorum.voters of all voters to the same voters as the log names; if this node "
            "should only follow, leave it out of them and set controller.quorum.bootstrap.servers",
            id="the voters are others",
        ),
        pytest.param(
            HaltCause.ELECTION_STATE_LOST,
            "it happened. Do not copy an older quorum-state. 'What stops a node' in the documentation (docs/halts.md) "
            "says how to write a new one, and 'kraft restore' restores a whole quorum from a backup",
            id="quorum-state is missing",
        ),
        pytest.param(
            HaltCause.NOT_A_VOTER,
            "it happened. Check controller.quorum.voters, and whether log.dirs is the directory of this node",
            id="the voters or the directory are wrong",
        ),
        pytest.param(HaltCause.CONTRADICTING_LEADER, "it happened", id="no setting explains it"),
    ],
)
def test_node_names_the_setting_to_check_when_one_may_be_the_cause(cause: HaltCause, said: str) -> None:
    assert explain(Halt(cause=cause, reason="it happened")) == said
