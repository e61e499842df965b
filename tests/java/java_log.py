"""What a Java node complains of in its log."""

from __future__ import annotations

import re

_ERROR = re.compile(r"^[\d:.]+ \[.*?\] ERROR (.*)$", re.MULTILINE)
_CONTENT = " -- "
"""Stands between the header of a request that is spoken of and its content."""

_NUMBER = re.compile(r"\d+")


def errors(text: str) -> set[str]:
    """Return the kinds of errors in a log: each line without its time, its numbers and the content of requests."""
    return {_NUMBER.sub("*", error.split(_CONTENT)[0]) for error in _ERROR.findall(text)}
