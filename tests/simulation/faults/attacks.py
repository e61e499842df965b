"""The ways in which an intruder tries to be served."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from raft.errors import AuthenticationError
from tests.simulation.faults.conversation import Pause, Script, handshake, prove, token
from tests.simulation.faults.impostor_requests import IMPOSTURES
from tests.simulation.faults.intruder_requests import HARMFUL, HARMLESS, Draft, Insight, api_versions
from tests.simulation.plan import Plan
from tests.simulation.security.access import AccessControl
from tests.simulation.security.identity import Identity
from tests.simulation.security.mechanisms import PLAIN, SCRAM
from tests.simulation.security.refusals import refusal_of
from tests.simulation.security.users import CLIENTS, FEEDER, GUESTS, MONITOR, NOBODY, OPERATOR, REPORTS, user_of

_FLOOD = 17
_LATE_MS = 50
_TRIES = 60
_WRONG_PASSWORD = "a wrong password"
_MESSAGES = {PLAIN: 1, SCRAM: 2}
"""How many messages a proof has."""


class Attack(NamedTuple):
    """What an intruder does on one connection.

    Fields:
        passwords: see `ExpectedSession`.
        script: the requests.
    """

    passwords: Mapping[str, str]
    script: Script


class Intruder:
    """One intruder. Each method is a way; None if it is not possible now.

    Args:
        access: the users of the run.
        insight: what the intruder knows of the quorum.
        plan: the plan of the run.
    """

    def __init__(self, access: AccessControl, insight: Insight, plan: Plan) -> None:
        self._access = access
        self._insight = insight
        self._dice = insight.dice
        self._plan = plan
        self._mechanism = plan.security.mechanism
        self._last = _MESSAGES[self._mechanism]

    def without_authentication(self) -> Attack | None:
        """Send a request at once."""

        def script() -> Script:
            yield [self._any()]

        return Attack({}, script())

    def while_proving(self) -> Attack | None:
        """Send a request after the mechanism was chosen."""

        def script() -> Script:
            yield [handshake(self._mechanism)]
            yield [self._any()]

        return Attack({}, script())

    def out_of_order(self) -> Attack | None:
        """Send the messages of SASL in another order, or too many requests."""
        steps: Sequence[Draft] = self._dice.pick(
            (
                [token(b"\0nobody\0nothing"), self._any()],
                [handshake(self._mechanism), handshake(self._mechanism), self._any()],
                [*([api_versions(self._insight)] * _FLOOD), self._any()],
            )
        )

        def script() -> Script:
            yield steps

        return Attack({}, script())

    def by_another_mechanism(self) -> Attack | None:
        """Choose a mechanism that the node does not have, or the version without frames."""
        other = SCRAM if self._mechanism == PLAIN else PLAIN
        first = handshake(other) if self._dice.draw(2) else handshake(self._mechanism, version=0)

        def script() -> Script:
            yield [first, self._any()]
            yield [self._any()]

        return Attack({}, script())

    def with_a_wrong_password(self) -> Attack | None:
        """Send a wrong password, and go on."""
        user = self._dice.pick((*CLIENTS, *GUESTS, OPERATOR, *self._users_of_nodes(), "stranger"))
        identity = self._access.user(user, password=_WRONG_PASSWORD)

        def script() -> Script:
            try:
                yield from prove(identity.authenticator(), last=self._last, behind=[self._any()])
            except AuthenticationError:
                yield [self._any()]

        return Attack(_passwords(identity), script())

    def with_old_messages(self) -> Attack | None:
        """Send the messages by which a user has proved its name before. Those of PLAIN are the password itself."""
        overheard = self._access.overheard
        if not overheard:
            return None
        first, last = overheard[self._dice.pick(sorted(overheard))]

        def script() -> Script:
            yield [handshake(self._mechanism)]
            yield [token(first)]
            yield [token(last), self._any()]
            yield [self._any()]

        return Attack({}, script())

    def as_another_user(self) -> Attack | None:
        """Authenticate as one user, then as another one that may do more."""
        first, second = self._access.user(NOBODY), self._access.user(self._dice.pick((FEEDER, REPORTS, OPERATOR)))

        def script() -> Script:
            yield from self._prove(first)
            try:
                yield from prove(second.authenticator(), last=self._last, behind=[self._any()])
            except AuthenticationError:
                yield [self._any()]

        return Attack(_passwords(first, second), script())

    def after_the_session(self) -> Attack | None:
        """Send a request when the session has ended."""
        lifetime_ms, identity = self._plan.security.max_reauth_ms, self._access.user(REPORTS)
        if not lifetime_ms:
            return None

        def script() -> Script:
            yield from self._prove(identity)
            yield Pause(lifetime_ms + lifetime_ms // 10 + _LATE_MS)
            yield [self._harmless_of(identity)]

        return Attack(_passwords(identity), script())

    def without_the_right(self) -> Attack | None:
        """Send what the user may not send as a client."""
        users = (*GUESTS, *self._users_of_nodes())
        return self._first_refused(lambda: self._dice.pick((*HARMFUL, *HARMLESS))(self._insight), users)

    def in_the_name_of_a_node(self) -> Attack | None:
        """Speak as a node that the user is not."""
        users = (OPERATOR, *GUESTS) if self._dice.draw(2) else self._users_of_nodes()
        return self._first_refused(self._imposture, users)

    def with_the_right(self) -> Attack | None:
        """Send what the user may send: no attack."""
        identity = self._access.user(self._dice.pick((REPORTS, FEEDER, MONITOR, *self._users_of_nodes())))

        def script() -> Script:
            yield from self._prove(identity)
            yield [self._harmless_of(identity)]
            yield [self._harmless_of(identity)]

        return Attack(_passwords(identity), script())

    def _first_refused(self, new_draft: Callable[[], Draft], users: Sequence[str]) -> Attack | None:
        """Send the first request that one of some users may not send, as that user."""
        for _ in range(_TRIES):
            draft, identity = new_draft(), self._access.user(self._dice.pick(users))
            if self._is_refused(draft, identity):
                return Attack(_passwords(identity), self._authenticated(identity, draft))
        return None

    def _authenticated(self, identity: Identity, draft: Draft) -> Script:
        yield from self._prove(identity)
        yield [draft]

    def _prove(self, identity: Identity) -> Script:
        return prove(identity.authenticator(), last=self._last)

    def _users_of_nodes(self) -> list[str]:
        return [user_of(node_id, self._plan) for node_id in self._insight.nodes]

    def _any(self) -> Draft:
        kinds = (*HARMFUL, *HARMLESS, None, None)
        new_draft = self._dice.pick(kinds)
        return self._imposture() if new_draft is None else new_draft(self._insight)

    def _imposture(self) -> Draft:
        return self._dice.pick(IMPOSTURES)(self._insight, self._dice.pick(self._insight.nodes))

    def _harmless_of(self, identity: Identity) -> Draft:
        drafts = (new_draft(self._insight) for new_draft in self._dice.some(HARMLESS, len(HARMLESS)))
        return next(draft for draft in drafts if not self._is_refused(draft, identity))

    def _is_refused(self, draft: Draft, identity: Identity) -> bool:
        refusal = refusal_of(*draft, user=identity.user, rules=self._access.rules, voters=self._plan.voters)
        return refusal is not None


ATTACKS: tuple[Callable[[Intruder], Attack | None], ...] = (
    Intruder.without_authentication,
    Intruder.while_proving,
    Intruder.out_of_order,
    Intruder.by_another_mechanism,
    Intruder.with_a_wrong_password,
    Intruder.with_old_messages,
    Intruder.as_another_user,
    Intruder.after_the_session,
    Intruder.without_the_right,
    Intruder.without_the_right,
    Intruder.without_the_right,
    Intruder.in_the_name_of_a_node,
    Intruder.in_the_name_of_a_node,
    Intruder.in_the_name_of_a_node,
    Intruder.with_the_right,
)
"""All ways; some are more frequent than others."""


def _passwords(*identities: Identity) -> dict[str, str]:
    return {identity.user: identity.password for identity in identities}
