"""The harness of scenarios: comparison, rewriting, refused commands, and its world."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.runner import difference, text_now
from tests.scenarios.harness.script import Script

_SCENARIO = """\
# SCENARIO-1: One voter elects itself
# Also: TEST-3, TEST-4
#
# Prose.

quorum voters=1
start
leaders
----
at 0 ms
  1 stores epoch=1 leader=none vote=1
  1: starts as Prospective(0): the only voter elects itself
  1: Prospective(0) -> Candidate(1) vote=1: won pre-votes of [1]
  1 stores epoch=1 leader=1 vote=1
  1: Candidate(1) vote=1 -> Leader(1) leader=1 vote=1: won with votes of [1]
epoch 1: 1

# More prose.
print nothing
----
ok
"""


def _script(folder: Path, text: str) -> Script:
    path = folder / "scenario_01_test.txt"
    path.write_text(text, encoding="utf-8")
    return Script.read(path)


def _printed(folder: Path, *commands: str) -> list[str]:
    """The lines that commands print together."""
    block = "\n".join(commands)
    text = text_now(_script(folder, f"# SCENARIO-1: scenario\n\n{block}\n----\n"))
    return text.split("----\n")[1].splitlines()


def test_scenario_agrees_when_its_output_is_right(tmp_path: Path) -> None:
    scenario = text_now(_script(tmp_path, _SCENARIO))

    assert difference(_script(tmp_path, scenario)) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("epoch 1: 1", "epoch 1: 2", id="another line"),
        pytest.param("epoch 1: 1\n", "", id="a line too few"),
        pytest.param("epoch 1: 1", "epoch 1: 1\nepoch 2: 1", id="a line too many"),
        pytest.param("----\nok\n", "----\n", id="no output at all"),
    ],
)
def test_scenario_disagrees_when_its_output_is_wrong(tmp_path: Path, right: str, wrong: str) -> None:
    scenario = text_now(_script(tmp_path, _SCENARIO))
    assert right in scenario

    assert difference(_script(tmp_path, scenario.replace(right, wrong)))


def test_rewritten_scenario_keeps_prose_and_commands_when_output_changes(tmp_path: Path) -> None:
    scenario = text_now(_script(tmp_path, _SCENARIO))

    rewritten = text_now(_script(tmp_path, scenario.replace("epoch 1: 1", "epoch 9: 9")))

    assert rewritten == scenario


def test_script_reads_rules_and_renders_itself_unchanged(tmp_path: Path) -> None:
    script = _script(tmp_path, _SCENARIO)

    assert script.rules == ("SCENARIO-1", "TEST-3", "TEST-4")
    assert script.text() == _SCENARIO
    assert [command.line_number for command in script.blocks[0].commands] == [6, 7, 8]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "first line", id="empty"),
        pytest.param("# A scenario\n", "first line", id="no rule"),
        pytest.param("# SCENARIO-1: scenario\n\nstart\n", "have no `----`", id="no divider at the end"),
        pytest.param("# SCENARIO-1: scenario\n\nstart\n\n----\nok\n", "have no `----`", id="blank before divider"),
    ],
)
def test_script_is_refused_when_malformed(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        _script(tmp_path, text)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        pytest.param("frobnicate 1", "no command `frobnicate`", id="unknown command"),
        pytest.param("crash 9", "no node 9", id="unknown node"),
        pytest.param("crash 3", "node 3 is down already", id="crash twice"),
        pytest.param("restart one", "`one` is not a number", id="no number"),
        pytest.param("start 1", "node 1 is up already", id="start twice"),
        pytest.param("wait 10 s", "`s` where `ms` was expected", id="wrong word"),
        pytest.param("wait", "a word is missing", id="missing word"),
        pytest.param("wait until 1 sleeps", "`sleeps`", id="unknown condition"),
        pytest.param("wait until 1 is resigned", "still does not hold", id="condition never comes"),
        pytest.param("print nothing please", "`please` is not understood", id="word too many"),
        pytest.param("print poems", "`poems`", id="unknown detail"),
        pytest.param("node 1 epoch=7", "node 1 is up", id="disk of a running node"),
        pytest.param("node 3 vote=1", "belongs to an `epoch=`", id="vote without epoch"),
        pytest.param("node 3 log=1@0,1@5..9", "epochs and offsets rise", id="epoch twice in a log"),
        pytest.param("node 3 timeouts=2000", "no election timeout of 2000 ms", id="timeout out of range"),
        pytest.param("wipe 1", "crash it first", id="wipe a running node"),
        pytest.param("cut 1-9", "no link of this quorum", id="unknown link"),
        pytest.param("deliver vote", "no such message", id="nothing held"),
        pytest.param("flush 1", "waits for no flush", id="nothing to flush"),
        pytest.param("ask 1: smile from 2 epoch=1", "`smile`", id="unknown request"),
        pytest.param("ask 1: vote from 2 epoch=1", "`last-epoch=` is missing", id="missing option"),
        pytest.param(
            "ask 3: fetch from 2 epoch=1 offset=0 last-epoch=0", "node 3 is down", id="ask a node that is down"
        ),
    ],
)
def test_command_is_refused_with_its_line_when_it_is_not_possible(tmp_path: Path, command: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem) as refusal:
        _printed(tmp_path, "quorum voters=1,2,3", "start 1 2", "wait until any node leads", command)

    assert f"scenario_01_test.txt:6: {command}" in str(refusal.value)


def test_crash_loses_what_was_not_flushed(tmp_path: Path) -> None:
    lines = _printed(
        tmp_path,
        "quorum voters=1",
        "print nothing",
        "start",
        "append 2 records at 1",
        "delay flushes of 1",
        "append 3 records at 1",
        "log",
        "crash 1",
        "log",
    )

    assert lines == ["1: 1@0..6", "1: 1@0..3"]


@pytest.mark.parametrize(
    ("meanwhile", "role"),
    [pytest.param("show 2", "Leader(5)", id="same process"), pytest.param("restart 1", "Candidate(5)", id="restarted")],
)
def test_response_reaches_only_the_process_that_sent_the_request(tmp_path: Path, meanwhile: str, role: str) -> None:
    lines = _printed(
        tmp_path,
        "quorum voters=1,2",
        "node 1 epoch=5 vote=1",
        "print nothing",
        "hold vote response 2->1",
        "start",
        "cut 1->2",
        meanwhile,
        "deliver",
        "show 1",
    )

    assert lines[-1].startswith(f"1: {role}")


def test_cut_link_carries_one_way_only_when_an_arrow_says_so(tmp_path: Path) -> None:
    lines = _printed(
        tmp_path,
        "quorum voters=1,2",
        "print elections",
        "cut 2->1",
        "node 1 epoch=5 vote=1",
        "start",
    )

    assert "  1 -> 2: vote epoch=5 last-epoch=0 log-end=0" in lines
    assert "  2 -> 1: vote granted epoch=5 (lost)" in lines
