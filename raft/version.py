"""The version of the distribution."""

from __future__ import annotations

__version__ = "0.3.0.dev0"
