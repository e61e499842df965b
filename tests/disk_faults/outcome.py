"""What a run has shown: how many acknowledged values are lost."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from tests.workload.verdict import Verdict

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run.

    Fields:
        acknowledged: values that were acknowledged before, during and after the fault.
        lost: those of them that cannot be read any more; all of them if the log cannot be read.
        accepts_appends: whether appends succeeded again after the fault.
        unreadable: why the log cannot be read; empty if it can.
        refused: the last line of each node that refused to start.
    """

    acknowledged: int
    lost: Sequence[bytes]
    accepts_appends: bool
    unreadable: str = ""
    refused: Sequence[str] = ()

    @classmethod
    def of(
        cls, acknowledged: Set[bytes], read: Set[bytes] | str, *, accepts_appends: bool, refused: Sequence[str] = ()
    ) -> Outcome:
        """Compare what was acknowledged with what was read, or with the reason why nothing can be read."""
        unreadable, found = (read, set()) if isinstance(read, str) else ("", read)
        return cls(
            acknowledged=len(acknowledged),
            lost=sorted(acknowledged - found),
            accepts_appends=accepts_appends,
            unreadable=unreadable,
            refused=refused,
        )

    @property
    def is_fine(self) -> bool:
        """Whether nothing is lost, and the system serves appends and reads again."""
        return self.verdict("").is_fine

    def verdict(self, fault: str) -> Verdict:
        """Return a sentence for each violation.

        Args:
            fault: what has struck.
        """
        broken = [f"{fault}: the log cannot be read: {self.unreadable}"] if self.unreadable else []
        if not self.accepts_appends:
            broken.append(f"{fault}: appends did not succeed again")
        lost = [f"{fault}: {_name(value)} was acknowledged and is lost" for value in self.lost]
        return Verdict(lost=lost, doubled=(), broken=broken)

    def __str__(self) -> str:
        lines = [f"lost {len(self.lost)} of {self.acknowledged} acknowledged values"]
        lines += [f"  {value.decode(errors='replace')}" for value in self.lost[:_SHOWN]]
        if self.unreadable:
            lines.append(f"the log cannot be read: {self.unreadable}")
        if not self.accepts_appends:
            lines.append("appends did not succeed again after the fault")
        lines += [f"refused to start: {line}" for line in self.refused]
        return "\n".join(lines)


def _name(value: bytes) -> str:
    return value.rstrip(b".").decode(errors="replace")
