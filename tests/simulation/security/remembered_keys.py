"""The keys that the library for SCRAM derives from passwords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from scramp import core

_Key = tuple[object, bytes, bytes, int]


@contextmanager
def remembered_keys() -> Iterator[None]:
    """Derive each key once within the `with` block: a client derives it for each proof, and a run has a thousand."""
    derive: Callable[..., bytes] = core.hi
    keys: dict[_Key, bytes] = {}

    def derive_once(digest: object, password: bytes, salt: bytes, iterations: object) -> bytes:
        key = digest, password, salt, int(str(iterations))
        if key not in keys:
            keys[key] = derive(digest, password, salt, iterations)
        return keys[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "hi", derive_once)
        yield
