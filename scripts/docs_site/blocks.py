"""Blocks of the documents as mkdocs understands them.

The commands in a block are for the hosts that its first line names: the site shows these as its title. A state diagram
becomes a table of its moves, because the program that draws it would be loaded from another server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HOSTS = re.compile(r"^```(\w+) (\w[\w ]*)$", re.MULTILINE)
_NAME = re.compile(r"(?<=<td><code>)[^<\s]{16,}(?=</code>)")
_MOVE = re.compile(r"^ +(\S+) --> (\S+): (.*)$", re.MULTILINE)


def with_blocks_of_the_site(text: str) -> str:
    """Return the text of a document with blocks that mkdocs understands."""
    text = _DIAGRAM.sub(lambda found: "\n".join(_table(found[1])), text)
    return _HOSTS.sub(r'```\1 title="\2"', text)


def with_breaks(html: str) -> str:
    """Return a page on which long names in the cells of tables may be broken, after a dot, `/` or `_`."""
    return _NAME.sub(lambda found: re.sub(r"([./_])(?=\w)", r"\1<wbr>", found[0]), html)


def _table(moves: str) -> Iterator[str]:
    yield "| from | to | triggers |"
    yield "|---|---|---|"
    for begin, end, triggers in _MOVE.findall(moves):
        yield f"| {'start' if begin == '[*]' else begin} | {end} | {triggers} |"
