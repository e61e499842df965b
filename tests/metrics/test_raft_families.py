"""The group raft-metrics is complete, and says what the rules say (METRIC-1 to METRIC-3, METRIC-6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest

from raft.core.events import ResignRequested
from raft.core.roles import Prospective, Unattached
from raft.metrics.raft_families import STATES, raft_families
from raft.types import ZERO_UUID, Epoch
from tests.core.builder import (
    Node,
    a_candidate,
    a_follower,
    a_leader,
    a_log,
    a_node,
    a_prospective,
    a_resigned,
    an_unattached,
)
from tests.core.wording import LOG_END, key
from tests.metrics.metered import Metered

RULES = Path(__file__).parents[2] / "docs" / "rules.md"
PREFIX = "kafka_server_raft_metrics_"
GONE = ("number_quorum_voters", "inbound_request_per_sec", "boot_timestamp", "number_of_quorum_voters")


def families(node: Node) -> dict[str, dict[str, object]]:
    """The samples of each metric, by the value of its label; without a label, by the empty text."""
    metered = Metered(node)
    return {
        family.name.removeprefix(PREFIX): {"".join(sample.labels.values()): sample.value for sample in family.samples}
        for family in raft_families(node.core, metered.meter, 0.75, voters=3, now_ms=0)
    }


def named_in_the_rules() -> set[str]:
    """The names of the table of section METRIC; `-max` belongs to the name before it."""
    section = RULES.read_text().partition("## 18. METRIC")[2].partition("- **METRIC-1**")[0]
    names: list[str] = []
    for row in re.findall(r"^\| (?!name)(.+?) \|", section, re.MULTILINE):
        for name in row.split(", "):
            names.append(names[-1].removesuffix("-avg") + name if name.startswith("-") else name)
    return {name for name in names if not name.startswith("---")}


@pytest.mark.rule("METRIC-1")
def test_group_has_the_19_metrics_of_the_rules() -> None:
    expected = {name.replace("-", "_") for name in named_in_the_rules()}

    assert len(expected) == 19
    assert set(families(a_leader(epoch=5))) == expected


@pytest.mark.rule("METRIC-6")
def test_group_has_none_of_the_early_names() -> None:
    found = families(a_leader(epoch=5))

    assert not set(GONE) & set(found)


def voted(node: Node) -> Node:
    """The same node after a vote, which only changes this field of its role."""
    role = node.role
    assert isinstance(role, Prospective | Unattached)
    node.core._state.role = replace(role, voted_key=key(2))
    return node


@pytest.mark.rule("METRIC-2", "METRIC-3")
@pytest.mark.parametrize(
    ("make", "state"),
    [
        pytest.param(lambda: a_leader(epoch=5), "leader", id="leader"),
        pytest.param(lambda: a_candidate(epoch=5), "candidate", id="candidate"),
        pytest.param(lambda: a_prospective(epoch=5), "prospective", id="prospective"),
        pytest.param(lambda: voted(a_prospective(epoch=5)), "prospective-voted", id="prospective that has voted"),
        pytest.param(lambda: a_follower(of=2, epoch=5), "follower", id="follower"),
        pytest.param(lambda: a_follower(of=2, epoch=5, voters=(2, 3)), "observer", id="follower that is no voter"),
        pytest.param(lambda: an_unattached(epoch=5), "unattached", id="unattached"),
        pytest.param(lambda: an_unattached(epoch=5, voted=2), "unattached-voted", id="unattached that has voted"),
        pytest.param(lambda: a_resigned(epoch=5), "unattached", id="resigned"),
    ],
)
def test_state_has_the_name_of_the_rules(make: Callable[[], Node], state: str) -> None:
    found = families(make())

    assert found["current_state"] == {state: 1}
    assert state in STATES


@pytest.mark.rule("METRIC-1")
def test_leader_reports_all() -> None:
    found = families(a_leader(epoch=5, high_watermark_known=True))

    end = LOG_END[1] + 1
    assert {
        name: values[""] for name, values in found.items() if "" in values and not isnan(float(str(values[""])))
    } == {
        "current_leader": 1,
        "current_epoch": 5,
        "current_vote": 1,
        "high_watermark": end,
        "log_end_offset": end,
        "log_end_epoch": 5,
        "number_unknown_voter_connections": 0,
        "number_of_voters": 3,
        "number_of_observers": 0,
        "uncommitted_voter_change": 0,
        "fetch_records_rate": 0,
        "append_records_rate": 0,
        "poll_idle_ratio_avg": 0.75,
    }


@pytest.mark.rule("METRIC-1")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: a_follower(of=2, epoch=5), id="follower"),
        pytest.param(lambda: a_resigned(epoch=5), id="resigned"),
    ],
)
def test_what_only_a_leader_reports_is_removed_from_others(make: Callable[[], Node]) -> None:
    found = families(make())

    assert found["number_of_observers"] == found["uncommitted_voter_change"] == {}


@pytest.mark.rule("METRIC-1")
def test_node_that_knows_nothing_reports_minus_one() -> None:
    found = families(a_node(epoch=0, log=a_log((), 0)))

    assert found["current_leader"] == found["current_vote"] == found["high_watermark"] == {"": -1}
    assert found["current_epoch"] == {"": 0}
    assert found["current_vote_directory_id"] == {ZERO_UUID: 1}


@pytest.mark.rule("METRIC-3")
def test_leader_that_resigns_is_unattached_at_once() -> None:
    node = a_leader(epoch=5)

    node.handle(ResignRequested(epoch=Epoch(5)), now_ms=0)

    assert families(node)["current_state"] == {"unattached": 1}
