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
            HaltCause.NOT_A_VOTER,
            "it happened. Check controller.quorum.voters, and whether log.dirs is the directory of this node",
            id="the voters or the directory are wrong",
        ),
        pytest.param(HaltCause.CONTRADICTING_LEADER, "it happened", id="no setting explains it"),
    ],
)
def test_node_names_the_setting_to_check_when_one_may_be_the_cause(cause: HaltCause, said: str) -> None:
    assert explain(Halt(cause=cause, reason="it happened")) == said
