"""Everything that is wrong with a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tests.workload import checks
from tests.workload.history import History, LoggedValue
from tests.workload.linearizable import not_linearizable
from tests.workload.timed_operations import timed_appends, timed_reads
from tests.workload.transaction_checks import attempts_of, disordered, ended, half_seen, seen_too_early, torn
from tests.workload.transaction_history import LoggedTransaction

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A sentence for each violation.

    Fields:
        lost: acknowledged values that are not in the log.
        doubled: values that are in the log more than once.
        broken: every other invariant that does not hold.
    """

    lost: Sequence[str]
    doubled: Sequence[str]
    broken: Sequence[str]

    @property
    def sentences(self) -> list[str]:
        """Every violation."""
        return [*self.lost, *self.doubled, *self.broken]

    def with_broken(self, sentences: Iterable[str]) -> Verdict:
        """Return the verdict with further violations."""
        return replace(self, broken=[*self.broken, *sentences])

    @property
    def is_fine(self) -> bool:
        """Whether there is no violation."""
        return not self.sentences

    def __str__(self) -> str:
        shown = self.sentences
        if len(shown) > _SHOWN:
            shown[_SHOWN:] = [f"... and {len(shown) - _SHOWN} more"]
        summary = f"lost {len(self.lost)}, doubled {len(self.doubled)}, invariants broken {len(self.broken)}"
        return "\n".join([*shown, summary])


def judge(
    history: History,
    log: Sequence[LoggedValue],
    *,
    transactions: Sequence[LoggedTransaction] = (),
    stale_allowed_ms: float = 0,
    complaints: Iterable[str] = (),
) -> Verdict:
    """Compare what clients saw with the final log.

    Args:
        history: what the clients saw.
        log: the data records that readers may see, in order.
        transactions: those of the log; see `VisibleLog`.
        stale_allowed_ms: for how long a session may miss a record that was acknowledged to another client.
        complaints: what is known to be wrong already.
    """
    writes = checks.writes_of(history.all_appends)
    attempts = attempts_of(history.transactions)
    staleness = checks.staleness_ms(
        history.reads, writes, log, transactions=transactions, ended=ended(attempts, transactions)
    )
    return Verdict(
        lost=[*checks.lost(writes, log)],
        doubled=[*checks.doubled(log)],
        broken=[
            *complaints,
            *history.complaints,
            *checks.invented(writes, log),
            *checks.misplaced(history.appends, log),
            *not_linearizable(timed_appends(writes, log), timed_reads(history.reads, transactions)),
            *checks.out_of_order(history.appends),
            *checks.unfaithful_reads(history.reads, log),
            *checks.reads_that_go_back(history.reads),
            *checks.too_stale(staleness, allowed_ms=stale_allowed_ms),
            *torn(attempts, log),
            *disordered(attempts, log),
            *seen_too_early(attempts, transactions, history.reads),
            *half_seen(transactions, history.reads),
        ],
    )
