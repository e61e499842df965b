"""What can be wrong with a scenario file itself."""

from __future__ import annotations


class ScenarioError(Exception):
    """A file that cannot be read, or a command that means nothing here; never a rule that a node broke."""
