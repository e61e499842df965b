"""Writes the log of a run: what a reader needs to understand why an invariant broke."""

from __future__ import annotations

from raft.core.effects import ReportFault, RoleChanged, SendResponse, TruncateLog
from raft.core.events import AppendRequested
from raft.core.messages import AppendResponse, VoteRequest, VoteResponse
from raft.core.roles import Leader
from raft.errors import error_name
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.log_model import write_id_of
from tests.simulation.machine import Machine
from tests.simulation.run_log import RunLog
from tests.simulation.security.guarded_request import GuardedRequest
from tests.simulation.step import Step


class RunLogger(Observer):
    """Logs roles, votes, appends, truncations and commits, and leaves out the rest."""

    def __init__(self, run_log: RunLog) -> None:
        self._run_log = run_log

    def event_handled(self, step: Step) -> None:
        subject = str(step.machine)
        for effect in step.effects:
            match effect:
                case RoleChanged():
                    names = type(effect.old).__name__, type(effect.new).__name__
                    self._run_log.add(subject, "epoch %s: %s -> %s: %s", effect.new.epoch, *names, effect.reason)
                case ReportFault():
                    self._run_log.add(subject, "reports: %s", effect.message)
                case TruncateLog():
                    end_before = step.truncated[-1].header.end_offset if step.truncated else effect.end_offset
                    self._run_log.add(subject, "truncates its log from %s to %s", end_before, effect.end_offset)
                case _:
                    pass
        if step.appended:
            self._log_appended(subject, step)
        if step.high_watermark != step.high_watermark_before and step.leadership is not None:
            self._run_log.add(subject, "commits up to %s", step.high_watermark)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        match request, order.response:
            case VoteRequest(), VoteResponse() as response:
                self._run_log.add(
                    str(machine),
                    "%s %s of node %s at epoch %s",
                    "grants" if response.vote_granted else f"refuses ({error_name(response.error)})",
                    "the pre-vote" if request.pre_vote else "the vote",
                    request.candidate.node_id,
                    request.epoch,
                )
            case AppendRequested(), AppendResponse() as response:
                write_id, outcome = write_id_of(request.batch.header), error_name(response.error)
                self._run_log.add(
                    str(machine), "responds to write %s: %s at %s", write_id, outcome, response.base_offset
                )
            case _:
                pass

    def request_received(self, machine: Machine, guarded: GuardedRequest) -> None:
        if guarded.expected.why is not None:
            self._run_log.add(str(machine), "has to refuse %s: %s", guarded, guarded.expected.why)

    def _log_appended(self, subject: str, step: Step) -> None:
        first, last = step.appended[0].header, step.appended[-1].header
        what = write_id_of(first) if isinstance(step.role_after, Leader) else f"{len(step.appended)} batches"
        self._run_log.add(
            subject, "appends %s..%s of epoch %s: %s", first.base_offset, last.end_offset, last.epoch, what
        )
