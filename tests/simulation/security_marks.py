"""Counts the coverage marks of authentication and authorization."""

from __future__ import annotations

from collections.abc import Mapping

from tests.simulation.invariants.observer import Observer
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark, Marks
from tests.simulation.security.expected import Cause, Kind
from tests.simulation.security.guarded_request import GuardedRequest
from tests.simulation.security.refusals import Reason
from tests.simulation.security.users import CLIENTS

_MARK_OF: Mapping[Reason | Cause, Mark] = {
    Cause.NOT_AUTHENTICATED: Mark.REQUEST_BEFORE_AUTHENTICATION,
    Cause.PROVING: Mark.REQUEST_WHILE_PROVING,
    Cause.OUT_OF_ORDER: Mark.SASL_OUT_OF_ORDER,
    Cause.TOO_MANY: Mark.TOO_MANY_REQUESTS,
    Cause.MECHANISM: Mark.MECHANISM_REFUSED,
    Cause.WRONG_PROOF: Mark.WRONG_PROOF_REFUSED,
    Cause.REPLAYED_PROOF: Mark.OLD_PROOF_REFUSED,
    Cause.REMOVED_USER: Mark.REMOVED_USER_REFUSED,
    Cause.OTHER_USER: Mark.OTHER_USER_REFUSED,
    Cause.EXPIRED: Mark.SESSION_EXPIRED,
    Reason.NO_RIGHT: Mark.CLIENT_WITHOUT_RIGHT_REFUSED,
    Reason.OTHER_NAME: Mark.OTHER_NAME_REFUSED,
}


class SecurityMarkObserver(Observer):
    """Counts why requests are refused, and what users and nodes prove."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def request_passed(self, machine: Machine, guarded: GuardedRequest) -> None:
        expected = guarded.expected
        if expected.why is not None:
            self._marks.count(_MARK_OF[expected.why])
        self._marks.count(Mark.REQUEST_IGNORED, expected.kind is Kind.IGNORE)
        self._marks.count(Mark.RIGHT_TAKEN_ON_OPEN_CONNECTION, expected.is_changed and expected.kind is Kind.REFUSE)
        self._marks.count(Mark.RIGHT_GIVEN_ON_OPEN_CONNECTION, expected.is_changed and expected.kind is Kind.SERVE)
        is_refused = guarded.connection.is_of_node and expected.kind is Kind.REFUSE
        self._marks.count(Mark.NODE_REFUSED_BY_WRONG_RULES, is_refused)
        self._count_proofs(guarded)
        self._count_served(guarded)

    def _count_proofs(self, guarded: GuardedRequest) -> None:
        connection, expected = guarded.connection, guarded.expected
        is_of_node = connection.is_of_node
        is_lasting = connection.is_forgetful and is_of_node
        self._marks.count(Mark.NODE_FORGOT_ITS_SESSION, expected.why is Cause.EXPIRED and is_lasting)
        self._marks.count(Mark.REMOVED_NODE_REFUSED, expected.why is Cause.REMOVED_USER and is_of_node)
        if expected.proves_again:
            is_of_client = connection.identity is None and connection.expected is not None
            user = connection.expected.user if is_of_client and connection.expected is not None else None
            self._marks.count(Mark.NODE_AUTHENTICATED_AGAIN, is_of_node)
            self._marks.count(Mark.CLIENT_AUTHENTICATED_AGAIN, user in CLIENTS)

    def _count_served(self, guarded: GuardedRequest) -> None:
        session = guarded.connection.expected
        if session is None or session.user is None or guarded.expected.kind is not Kind.SERVE:
            return
        self._marks.count(Mark.REMOVED_USER_STAYED, session.user in session.known.removed)
