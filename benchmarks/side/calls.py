"""The other side of `benchmarks.program`: responds to calls until standard input ends."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping


def answer_calls(functions: Mapping[str, Callable[..., object]]) -> None:
    """Respond to calls of these functions by name, one after the other."""
    # Other output, also of a JVM, must not be taken for a response.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            print(json.dumps(_answer(functions, json.loads(line))), file=answers, flush=True)


def _answer(functions: Mapping[str, Callable[..., object]], call: Mapping[str, object]) -> dict[str, object]:
    arguments = call["arguments"]
    assert isinstance(arguments, dict), "the arguments of a call are an object"
    try:
        return {"result": functions[str(call["name"])](**arguments)}
    except Exception:
        # Any error is sent to the caller, and the program continues for the other works.
        return {"error": traceback.format_exc()}
