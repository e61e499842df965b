"""The errors in the log of a Java node."""

from __future__ import annotations

import re

_ERROR = re.compile(r"^[\d:.]+ \[.*?\] ERROR (.*)$", re.MULTILINE)
_CONTENT = " -- "
"""Separates the header of a request from its content."""

_NUMBER = re.compile(r"\d+")


def errors(text: str) -> set[str]:
    """Return the kinds of errors in a log: each line without its time, its numbers and the content of requests."""
    return {_NUMBER.sub("*", error.split(_CONTENT)[0]) for error in _ERROR.findall(text)}
