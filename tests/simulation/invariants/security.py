"""Invariants of authentication and authorization. What a node has to do with a request is in `GuardedRequest.expected`,
which the simulator's own model says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raft.codec import Message
from raft.core.effects import Disconnect, Halt, RoleChanged, SendRequest
from raft.core.events import Event, RequestAbandoned, RequestFailed, RequestReceived, ResponseReceived
from raft.core.messages import EndQuorumEpochRequest, RequestRefused
from raft.core.roles import Leader
from raft.errors import ErrorCode, error_name
from raft.runtime.caller import ANONYMOUS
from raft.runtime.drop_cause import DropCause
from raft.types import NodeId
from raft.wire.messages.api_versions import ApiVersionsResponse
from raft.wire.messages.produce import ProduceRequest
from tests.simulation.faults.intruder_requests import INTRUDER
from tests.simulation.invariants.observer import Invariant
from tests.simulation.machine import Machine
from tests.simulation.security.expected import Kind
from tests.simulation.security.guarded_request import GuardedRequest
from tests.simulation.security.refusals import REFUSALS, errors_in
from tests.simulation.security.rights import principal_of
from tests.simulation.starting import endpoint_of
from tests.simulation.step import Step

_LONGEST_DELAY_MS = 1_000
"""A wrong proof has its response after 100 ms; the timers of a node may be somewhat late."""

_REFUSAL_LASTS_MS = 10_000
"""How long a refusal counts (ERROR-6)."""

_NOT_AUTHORIZED = RequestRefused(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_OF_SECURITY = (*REFUSALS, ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.ILLEGAL_SASL_STATE)


class RefusalsAreCorrect(Invariant):
    """A request that the rules of this moment refuse is refused at once."""

    rules = ("ACL-1", "ACL-2", "ACL-3")

    def __init__(self) -> None:
        self._last: GuardedRequest | None = None

    def request_passed(self, machine: Machine, guarded: GuardedRequest) -> None:
        if guarded.expected.kind is Kind.REFUSE and not guarded.connection.is_abandoned:
            has_response = guarded is self._last
            self.require(has_response, "%s does not respond to %s: %s", machine, guarded, guarded.expected.why)

    def response_given(self, machine: Machine, guarded: GuardedRequest, response: Message | None) -> None:
        self._last = guarded
        expected, message = guarded.expected, guarded.message
        if expected.kind is not Kind.REFUSE:
            return
        if response is None:
            expects_none = isinstance(message, ProduceRequest) and message.acks == 0
            self.require(expects_none, "%s has no response to %s: %s", machine, guarded, expected.why)
            return
        errors = {error for error in errors_in(response) if error}
        self.require(
            errors <= REFUSALS and bool(errors or expected.is_hidden),
            "%s responds %s to %s: %s",
            machine,
            [error_name(error) for error in errors],
            guarded,
            expected.why,
        )


class RefusedRequestsChangeNothing(Invariant):
    """A request that is refused, or ends its connection, does not reach the core.

    With its connection, earlier requests on it may be abandoned.
    """

    rules = ("AUTH-4", "ACL-1", "ACL-3")

    def event_submitted(self, machine: Machine, guarded: GuardedRequest, event: Event) -> None:
        is_served = guarded.expected.kind is Kind.SERVE or isinstance(event, RequestAbandoned)
        self.require(is_served, "%s gives %s to its core for %s: %s", machine, event, guarded, guarded.expected.why)


class RecordsOfIntrudersAreNotAppended(Invariant):
    """No log has a record that an intruder has sent."""

    rules = ("ACL-1", "ACL-2")

    def log_appended(self, step: Step) -> None:
        for entry in step.appended:
            is_of_intruder = INTRUDER in entry.payload
            self.require(not is_of_intruder, "%s appends a record of an intruder: %s", step.machine, entry.header)


class ConnectionsEndWithoutProof(Invariant):
    """A request before authentication, a wrong proof and a request after the end of the session end the connection. The
    response is that of SASL, or there is none; requests behind them get none.
    """

    rules = ("AUTH-4", "AUTH-5", "AUTH-6", "AUTH-8", "AUTH-9")

    def __init__(self) -> None:
        self._due: list[tuple[Machine, int, GuardedRequest]] = []

    def request_received(self, machine: Machine, guarded: GuardedRequest) -> None:
        now_ms = machine.true_ms
        self._due = [due for due in self._due if due[2].connection.is_used_at(due[0])]
        for at, due_ms, ended in self._due:
            # A machine that stalls has not ended it yet, and receives nothing either.
            is_late = at is machine and due_ms <= now_ms
            self.require(not is_late, "%s does not end the connection of %s", machine, ended)
        if guarded.expected.kind is Kind.END:
            self._due.append((machine, now_ms + _LONGEST_DELAY_MS, guarded))

    def response_given(self, machine: Machine, guarded: GuardedRequest, response: Message | None) -> None:
        expected = guarded.expected
        if expected.kind not in (Kind.END, Kind.IGNORE):
            return
        errors = set() if response is None else {*errors_in(response)}
        self.require(
            expected.error is not None and errors == {expected.error},
            "%s responds %s to %s, expected %s: %s",
            machine,
            response,
            guarded,
            "no response" if expected.error is None else error_name(expected.error),
            expected.why or "its connection has to end",
        )


class AllowedRequestsAreServed(Invariant):
    """A client that may send a request is not refused, and its connection is not closed; a right proof is accepted."""

    rules = ("AUTH-9", "ACL-2", "ACL-3")

    def response_given(self, machine: Machine, guarded: GuardedRequest, response: Message | None) -> None:
        is_allowed = guarded.expected.kind in (Kind.SERVE, Kind.ACCEPT)
        # The response to ApiVersions is long, and every client may have it.
        if response is None or not is_allowed or isinstance(response, ApiVersionsResponse):
            return
        refusals = [error_name(error) for error in errors_in(response) if error in _OF_SECURITY]
        self.require(not refusals, "%s responds %s to %s, which may be sent", machine, refusals, guarded)

    def connection_ended(self, machine: Machine, guarded: GuardedRequest, cause: DropCause) -> None:
        is_right = guarded.expected.kind is Kind.END
        self.require(is_right, "%s closes the connection of %s, which may be sent: %s", machine, guarded, cause)


class RefusedNodesStop(Invariant):
    """A voter that does not lead stops when a majority of the voters, and at least two, refuse it as not authorized."""

    rules = ("ERROR-6",)

    def __init__(self, voters: Sequence[NodeId]) -> None:
        self._needed = max(len(voters) // 2 + 1, 2)
        self._voters = {endpoint_of(voter): voter for voter in voters}
        self._asked: dict[Machine, dict[int, NodeId]] = {}
        self._refused_ms: dict[Machine, dict[NodeId, int]] = {}

    def node_started(self, machine: Machine) -> None:
        self._asked[machine], self._refused_ms[machine] = {}, {}

    def event_handled(self, step: Step) -> None:
        asked, refused_ms = self._asked[step.machine], self._refused_ms[step.machine]
        match step.event:
            case ResponseReceived(number=number, response=response) if number in asked:
                voter = asked.pop(number)
                refused_ms.pop(voter, None)
                if response == _NOT_AUTHORIZED:
                    refused_ms[voter] = step.now_ms
                    self._check(step, refused_ms)
            case RequestFailed(number=number):
                asked.pop(number, None)
            case RequestReceived(request=EndQuorumEpochRequest()):
                asked.clear()
            case _:
                pass
        self._note_effects(step, asked)

    def _check(self, step: Step, refused_ms: Mapping[NodeId, int]) -> None:
        recent = sorted(voter for voter, at_ms in refused_ms.items() if step.now_ms - at_ms < _REFUSAL_LASTS_MS)
        stops = any(isinstance(effect, Halt) for effect in step.effects)
        leads = isinstance(step.role_before, Leader) or isinstance(step.role_after, Leader)
        goes_on = step.machine.is_voter and not leads and not stops and len(recent) >= self._needed
        self.require(not goes_on, "%s goes on, although %s do not authorize it", step.machine, recent)

    def _note_effects(self, step: Step, asked: dict[int, NodeId]) -> None:
        for effect in step.effects:
            match effect:
                case RoleChanged():
                    asked.clear()
                case SendRequest(number=number, endpoint=endpoint) if endpoint in self._voters:
                    asked[number] = self._voters[endpoint]
                case Disconnect():
                    asked.clear()
                case _:
                    pass


class PrincipalsAreProved(Invariant):
    """The principal of a connection is that of the user that has proved its name on it."""

    rules = ("AUTH-9", "ACL-3")

    def request_passed(self, machine: Machine, guarded: GuardedRequest) -> None:
        session = guarded.connection.expected
        user = None if session is None else session.user
        principal, proved = guarded.connection.caller.principal, ANONYMOUS if user is None else principal_of(user)
        self.require(principal == proved, "%s: %s has principal %s, proved is %s", machine, guarded, principal, proved)
