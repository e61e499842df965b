"""The error of a scenario file."""

from __future__ import annotations


class ScenarioError(Exception):
    """A file that cannot be read, or a command that is not possible; never a broken rule of the protocol."""
