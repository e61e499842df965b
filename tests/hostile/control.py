"""The process of the control, for the run that starts it; see `tests.hostile.burner`."""

from __future__ import annotations

import sys

from tests.hostile.burner import BEGINS
from tests.processes.piped_process import PipedProcess

_LONGEST_START_S = 60.0


class Burner(PipedProcess):
    """One control; its process ends with the block.

    Args:
        duration_s: how long it uses the processor.
        processor_s: how much of it.
    """

    def __init__(self, *, duration_s: float, processor_s: float) -> None:
        super().__init__(
            "the control", [sys.executable, "-m", "tests.hostile.burner", str(duration_s), str(processor_s)]
        )
        self._longest_s = duration_s + _LONGEST_START_S

    def wait_until_it_begins(self) -> None:
        """Wait until it begins.

        Raises:
            AssertionError: it ended before.
        """
        self.wait_until_it_says(BEGINS, within_s=_LONGEST_START_S)

    def wait_until_it_ends(self) -> None:
        """Wait until it has used its time.

        Raises:
            AssertionError: it failed.
        """
        printed = self.rest_of_output(within_s=self._longest_s)
        assert self.wait() == 0, f"the control failed: {printed}{self.errors}"
