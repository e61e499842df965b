"""Draws the legal moves between roles from `raft.core.roles.ALLOWED` into docs/roles.md.

python -m scripts.role_diagram
"""

from __future__ import annotations

from pathlib import Path

from raft.core.roles import ALLOWED

DOCUMENT = "docs/roles.md"


def diagram() -> str:
    """The moves as a Mermaid state diagram."""
    moves = [
        f"    {old.__name__} --> {new.__name__}"
        for old, allowed in ALLOWED.items()
        for new in sorted(allowed, key=lambda role: role.__name__)
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> Unattached", *moves, "```"])


def main() -> None:
    heading = (
        "# Roles\n\nDrawn from the table in `raft/core/roles.py`; triggers and timers stand in rules.md, section 2.\n"
    )
    Path(DOCUMENT).write_text(f"{heading}\n{diagram()}\n")


if __name__ == "__main__":
    main()
