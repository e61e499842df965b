"""The attacker's process, as the one who starts it sees it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tests.hostile.attacker import BEGINS
from tests.hostile.scene import Scene
from tests.hostile.tally import Tally
from tests.node.harness.processes import DIE_WITH_US, ROOT

_LONGEST_END_S = 60.0


class Neighbour:
    """One run of the attacker; its process ends with the block.

    Args:
        scene: whom it attacks.
        seed: what it does.
        duration_s: for how long.
        attacks: names of those that it plays; empty for all.
    """

    def __init__(self, scene: Scene, *, seed: int, duration_s: float, attacks: Sequence[str] = ()) -> None:
        self._duration_s = duration_s
        self._command = [
            *DIE_WITH_US,
            *(sys.executable, "-m", "tests.hostile.attacker", scene.to_json(), str(seed), str(duration_s)),
            *([",".join(attacks)] if attacks else []),
        ]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def wait_until_it_begins(self) -> None:
        """Return when it attacks.

        Raises:
            AssertionError: it ended before.
        """
        assert self._process.stdout is not None, "it is a pipe"
        line = self._process.stdout.readline()
        assert line.strip() == BEGINS, f"the attacker said {line!r}"

    def wait(self) -> Tally:
        """Return what it did, once it has ended.

        Raises:
            AssertionError: it failed.
        """
        said, _ = self._process.communicate(timeout=self._duration_s + _LONGEST_END_S)
        assert self._process.returncode == 0, f"the attacker failed with {self._process.returncode}: {said}"
        return Tally.from_json(said)
