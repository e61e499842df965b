"""Runs the commands of a scenario."""

from __future__ import annotations

from difflib import unified_diff

from tests.scenarios.harness.commands.command_table import carry_out
from tests.scenarios.harness.commands.context import CommandContext
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.script import Script
from tests.scenarios.harness.transcript import Transcript


def text_now(script: Script) -> str:
    """Return the text of the file with the present output of its commands.

    Raises:
        ScenarioError: a command is not possible; the message has file, line, and the output of the block so far.
    """
    context = CommandContext(Transcript())
    printed = []
    for block in script.blocks:
        for command in block.commands:
            try:
                carry_out(context, command.text)
            except ScenarioError as error:
                where = f"{script.path}:{command.line_number}: {command.text}"
                so_far = "\n".join(context.transcript.take_block())
                raise ScenarioError(f"{where}\n{error}\nprinted by this block so far:\n{so_far}") from error
        printed.append(context.transcript.take_block())
    return script.rendered(printed)


def difference(script: Script) -> str:
    """Return the diff of expected and present output; "" if they are equal."""
    expected, printed = script.text().splitlines(), text_now(script).splitlines()
    return "\n".join(unified_diff(expected, printed, "expected", "present", lineterm=""))
