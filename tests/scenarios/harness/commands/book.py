"""All commands by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands import asking, deeds, faults, queries, setting
from tests.scenarios.harness.commands.stage import Handler, Stage
from tests.scenarios.harness.errors import ScenarioError

COMMANDS: Mapping[str, Handler] = {
    "quorum": setting.quorum,
    "node": setting.node,
    "print": setting.print_,
    "start": deeds.start,
    "wait": deeds.wait,
    "append": deeds.append,
    "shutdown": deeds.shutdown,
    "resign": deeds.resign,
    "ask": asking.ask,
    "crash": faults.crash,
    "restart": faults.restart,
    "wipe": faults.wipe,
    "cut": faults.cut,
    "heal": faults.heal,
    "links": faults.links,
    "lose": faults.lose,
    "hold": faults.hold,
    "carry": faults.carry,
    "deliver": faults.deliver,
    "drop": faults.drop,
    "fail": faults.fail,
    "delay": faults.delay,
    "flush": faults.flush,
    "show": queries.show,
    "stored": queries.stored,
    "log": queries.log,
    "leaders": queries.leaders,
    "held": queries.held,
}


def carry_out(stage: Stage, line: str) -> None:
    """Carry out one command.

    Raises:
        ScenarioError: there is no such command, or it means nothing here.
    """
    arguments = Arguments(line)
    name = arguments.word()
    if name not in COMMANDS:
        raise ScenarioError(f"there is no command `{name}`")
    COMMANDS[name](stage, arguments)
    arguments.finish()
