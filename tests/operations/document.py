"""The parts of docs/operations.md and docs/security.md: blocks by sections, tables, headings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.processes.commands import ROOT

TEXT = (ROOT / "docs" / "operations.md").read_text()
SECURITY = (ROOT / "docs" / "security.md").read_text()

_HEADING_OR_BLOCK = re.compile(
    r"^## (?P<heading>[^\n]+)$|^```(?P<language>\w+)(?P<hosts>[^\n]*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Fields:
        section: the heading before it.
        language: of the block.
        hosts: names of the hosts for which its commands are, or of another owner of a configuration.
        text: its content.
    """

    section: str
    language: str
    hosts: tuple[str, ...]
    text: str


def blocks(text: str = TEXT) -> list[Block]:
    """Return all blocks of a document in their order."""
    found, section = [], ""
    for match in _HEADING_OR_BLOCK.finditer(text):
        if match["heading"]:
            section = match["heading"]
        else:
            found.append(Block(section, match["language"], tuple(match["hosts"].split()), match["text"]))
    return found


def removable_files() -> dict[str, bool]:
    """Return the patterns of the files of a node, and whether a stopped node can do without them."""
    section = TEXT.split("\n## Files of a node\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+`) \| .+ \| (yes|no|never)\b.*\|$", section, re.MULTILINE)
    found = {}
    for names, answer in rows:
        first, *others = re.findall(r"`([^`]+)`", names)
        # The second name of a pair with the same beginning has only its end.
        for name in (first, *(each if each[0] != "." else first.rpartition(".")[0] + each for each in others)):
            found[_pattern(name)] = answer == "yes"
    return found


def alerts() -> list[str]:
    """Return the alerts that have a part of their own, in order."""
    return re.findall(r"^### (Kraft\w+)$", TEXT, re.MULTILINE)


def _pattern(name: str) -> str:
    """Return the regular expression of a file name in which N is an offset and E an epoch."""
    return re.sub(r"^N\b", r"\\d{20}", re.sub(r"-E\b", r"-\\d{10}", re.escape(name).replace(r"\-", "-")))
