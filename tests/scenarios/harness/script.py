"""A scenario file: prose, and blocks of commands with their expected output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios.harness.errors import ScenarioError

DIVIDER = "----"
"""The line between the commands of a block and their output."""

_TITLE = re.compile(r"# (SCENARIO-\d+): \S.*")
_ALSO = re.compile(r"# Also: ([A-Z]+-\d+(?:, [A-Z]+-\d+)*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command line."""

    line_number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands, one a line, and their expected output."""

    commands: tuple[Command, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A parsed file. `parts` are its lines of prose (comments and blank lines) and its blocks, in order.

    Fields:
        rules: the rule of the title line, then those of the line `# Also:`.
    """

    path: Path
    rules: tuple[str, ...]
    parts: tuple[str | Block, ...]

    @classmethod
    def read(cls, path: Path) -> Script:
        """Read a file.

        Raises:
            ScenarioError: the title names no rule, or a block has no divider.
        """
        lines = path.read_text(encoding="utf-8").splitlines()
        return cls(path=path, rules=_rules(path, lines), parts=tuple(_parts(path, lines)))

    def rendered(self, outputs: Iterable[Iterable[str]]) -> str:
        """Return the text of the file with other outputs, one for each block."""
        lines: list[str] = []
        output = iter(outputs)
        for part in self.parts:
            match part:
                case str():
                    lines.append(part)
                case Block():
                    lines += [*(command.text for command in part.commands), DIVIDER, *next(output)]
        return "".join(line + "\n" for line in lines)

    def text(self) -> str:
        """Return the text of the file with the expected outputs."""
        return self.rendered(block.expected for block in self.blocks)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, without the prose."""
        return tuple(part for part in self.parts if isinstance(part, Block))


def _rules(path: Path, lines: list[str]) -> tuple[str, ...]:
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None:
        raise ScenarioError(f"{path}:1: the first line must be `# SCENARIO-<number>: <title>`")
    also = [match[1].split(", ") for line in lines if (match := _ALSO.fullmatch(line))]
    return (title[1], *(rule for rules in also for rule in rules))


def _parts(path: Path, lines: list[str]) -> Iterator[str | Block]:
    numbered = iter(enumerate(lines, start=1))
    for number, line in numbered:
        if not line.strip() or line.startswith("#"):
            yield line
            continue
        commands = [Command(line_number=number, text=line)]
        for next_number, next_line in numbered:
            if next_line == DIVIDER:
                break
            if not next_line.strip():
                raise ScenarioError(f"{path}:{number}: these commands have no `{DIVIDER}` below them")
            commands.append(Command(line_number=next_number, text=next_line))
        else:
            raise ScenarioError(f"{path}:{number}: these commands have no `{DIVIDER}` below them")
        expected = []
        ended_by_blank = False
        for _, output_line in numbered:
            if not output_line.strip():
                ended_by_blank = True
                break
            expected.append(output_line)
        yield Block(commands=tuple(commands), expected=tuple(expected))
        if ended_by_blank:
            yield ""
