"""All commands by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands import actions, ask, faults, queries, setup
from tests.scenarios.harness.commands.context import CommandContext, Handler
from tests.scenarios.harness.errors import ScenarioError

COMMANDS: Mapping[str, Handler] = {
    "quorum": setup.quorum,
    "node": setup.node,
    "print": setup.print_,
    "start": actions.start,
    "wait": actions.wait,
    "append": actions.append,
    "shutdown": actions.shutdown,
    "resign": actions.resign,
    "ask": ask.ask,
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


def carry_out(context: CommandContext, line: str) -> None:
    """Carry out one command.

    Raises:
        ScenarioError: there is no such command, or it is not possible now.
    """
    arguments = Arguments(line)
    name = arguments.word()
    if name not in COMMANDS:
        raise ScenarioError(f"there is no command `{name}`")
    COMMANDS[name](context, arguments)
    arguments.finish()
