"""Runs a scenario from its first block to its last."""

from __future__ import annotations

from difflib import unified_diff

from tests.scenarios.harness.commands.book import carry_out
from tests.scenarios.harness.commands.stage import Stage
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.script import Script
from tests.scenarios.harness.transcript import Transcript


def text_now(script: Script) -> str:
    """The text of the file with what its commands print now.

    Raises:
        ScenarioError: a command makes no sense; says which line of which file, and what its block printed before.
    """
    stage = Stage(Transcript())
    printed = []
    for block in script.blocks:
        for command in block.commands:
            try:
                carry_out(stage, command.text)
            except ScenarioError as error:
                where = f"{script.path}:{command.line_number}: {command.text}"
                so_far = "\n".join(stage.transcript.take_block())
                raise ScenarioError(f"{where}\n{error}\nprinted by this block so far:\n{so_far}") from error
        printed.append(stage.transcript.take_block())
    return script.rendered(printed)


def difference(script: Script) -> str:
    """What the commands print now against what the file says, as a diff; "" when they agree."""
    expected, printed = script.text().splitlines(), text_now(script).splitlines()
    return "\n".join(unified_diff(expected, printed, "as the file says", "as it is now", lineterm=""))
