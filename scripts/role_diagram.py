"""Draws the legal moves between roles from `raft.core.transitions.ALLOWED` into docs/roles.md.

python -m scripts.role_diagram
"""

from __future__ import annotations

from pathlib import Path

from raft.core.transitions import ALLOWED, FIRST_ROLES

DOCUMENT = "docs/roles.md"

_HEADING = """\
# Roles

Generated from the table in `raft/core/transitions.py`. Each arrow lists its triggers, of which one is enough. For
timers and what is stored on disk see [rules.md](rules.md), section 2.
"""


def diagram() -> str:
    """Return the moves as a Mermaid state diagram."""
    starts = [f"    [*] --> {role.__name__}: {when}" for role, when in FIRST_ROLES.items()]
    moves = [
        f"    {old.__name__} --> {new.__name__}: {',<br/>or '.join(move.triggers)}"
        for old, allowed in ALLOWED.items()
        for new, move in allowed.items()
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *starts, *moves, "```"])


def main() -> None:
    Path(DOCUMENT).write_text(f"{_HEADING}\n{diagram()}\n")


if __name__ == "__main__":
    main()
