"""What a node has to do with each request on a connection: the simulator's own model of SASL.

It is told what the other side really knows, so it need not check a proof of SCRAM to say whether that is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from raft.codec import Message
from raft.errors import ErrorCode
from raft.security.rules import Rules
from raft.types import NodeId
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.simulation.security.mechanisms import PLAIN
from tests.simulation.security.refusals import Reason, refusal_of

_MOST_REQUESTS = 16


class Kind(Enum):
    """What a node has to do with a request."""

    SERVE = auto()
    """Handle it."""
    ACCEPT = auto()
    """Take the next message of SASL, and go on."""
    REFUSE = auto()
    """Respond with an error, and change nothing."""
    END = auto()
    """End the connection, perhaps with an error first."""
    IGNORE = auto()
    """Do nothing: the connection is about to end."""


class Cause(StrEnum):
    """Why a connection has to end."""

    NOT_AUTHENTICATED = "a request before authentication"
    PROVING = "a request in the middle of authentication"
    OUT_OF_ORDER = "a message of SASL out of order"
    TOO_MANY = "too many requests before authentication"
    MECHANISM = "a mechanism that the node does not have"
    WRONG_PROOF = "a wrong password"
    REPLAYED_PROOF = "messages of SCRAM that were sent before"
    REMOVED_USER = "a user that was removed"
    OTHER_USER = "authentication again as another user"
    EXPIRED = "a request after the end of the session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a node has to do with one request.

    Fields:
        kind: see `Kind`.
        error: the error code of the response, for END; None for no response.
        why: why the request is not served; None if it is.
        is_hidden: whether a response without an error is right too, as long as it names nothing.
        proves_again: whether it proves the name of the user again.
        is_changed: whether such a request had the other outcome on this connection before.
    """

    kind: Kind
    error: ErrorCode | None = None
    why: Reason | Cause | None = None
    is_hidden: bool = False
    proves_again: bool = False
    is_changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a node knows of users and rules, as it has read them last.

    Fields:
        passwords: of the users that can prove their names.
        removed: the users that could do so before.
        rules: who may do what.
        voters: the voters.
        mechanism: the only one that the node has.
        max_reauth_ms: how long a session is valid; 0 for no limit.
    """

    passwords: Mapping[str, str]
    removed: Collection[str]
    rules: Rules
    voters: Collection[NodeId]
    mechanism: str
    max_reauth_ms: int


class _Stage(Enum):
    NEW = auto()
    PROVING = auto()
    PROVED = auto()
    ENDED = auto()


class ExpectedSession:
    """What one connection has proved so far.

    Args:
        known: returns what the node knows now.
        passwords: the passwords that the other side uses for its proofs, right or wrong, by user; it repeats old
            messages in the name of a user that is missing.

    Attributes:
        user: the user whose name is proved; None before.
    """

    def __init__(self, known: Callable[[], Known], passwords: Mapping[str, str]) -> None:
        self.user: str | None = None
        self._known = known
        self._passwords = passwords
        self._stage = _Stage.NEW
        self._then: Known = known()
        self._claimed: str | None = None
        self._count = 0
        self._expires_ms: int | None = None
        self._is_served: dict[type[Message], bool] = {}

    @property
    def known(self) -> Known:
        """What the node knows now."""
        return self._known()

    @property
    def is_new(self) -> bool:
        """Whether nothing was sent on the connection yet."""
        return self._stage is _Stage.NEW and not self._count

    @property
    def is_proved(self) -> bool:
        """Whether requests other than those of SASL may be sent."""
        return self._stage is _Stage.PROVED

    def expect(self, message: Message, version: int, now_ms: int) -> Expected:
        """Return what the node has to do with the next request.

        Args:
            message: the request.
            version: its version.
            now_ms: the clock of the node.
        """
        if self._stage is _Stage.ENDED:
            return Expected(kind=Kind.IGNORE)
        if self._stage is not _Stage.PROVED or isinstance(message, SaslHandshakeRequest | SaslAuthenticateRequest):
            return self._expect_proof(message, version, now_ms)
        if self._expires_ms is not None and now_ms >= self._expires_ms:
            return self._end(Cause.EXPIRED)
        return self._expect_request(message, version)

    def _expect_request(self, message: Message, version: int) -> Expected:
        assert self.user is not None, "the name is proved"
        known = self._known()
        refusal = refusal_of(message, version, user=self.user, rules=known.rules, voters=known.voters)
        is_served = refusal is None
        was_served = self._is_served.get(type(message), is_served)
        self._is_served[type(message)] = is_served
        if refusal is None:
            return Expected(kind=Kind.SERVE, is_changed=not was_served)
        return Expected(
            kind=Kind.REFUSE,
            why=refusal,
            is_hidden=isinstance(message, MetadataRequest) and not message.topics,
            is_changed=was_served,
        )

    def _expect_proof(self, message: Message, version: int, now_ms: int) -> Expected:
        match message:
            case SaslHandshakeRequest() if self._stage is _Stage.PROVING:
                return self._end(Cause.OUT_OF_ORDER, ErrorCode.ILLEGAL_SASL_STATE)
            case SaslAuthenticateRequest() if self._stage is not _Stage.PROVING:
                return self._end(Cause.OUT_OF_ORDER, ErrorCode.ILLEGAL_SASL_STATE)
            case SaslHandshakeRequest() | SaslAuthenticateRequest():
                pass
            case ApiVersionsRequest() if self._stage is _Stage.NEW:
                pass
            case _:
                return self._end(Cause.NOT_AUTHENTICATED if self._stage is _Stage.NEW else Cause.PROVING)
        self._count += 1
        if self._count > _MOST_REQUESTS:
            return self._end(Cause.TOO_MANY)
        match message:
            case SaslHandshakeRequest():
                return self._expect_handshake(message, version)
            case SaslAuthenticateRequest():
                return self._expect_token(message.auth_bytes, now_ms)
            case _:
                return Expected(kind=Kind.SERVE)

    def _expect_handshake(self, message: SaslHandshakeRequest, version: int) -> Expected:
        if version == 0:
            return self._end(Cause.MECHANISM, ErrorCode.UNSUPPORTED_VERSION)
        self._then, self._claimed = self._known(), None
        if message.mechanism != self._then.mechanism:
            return self._end(Cause.MECHANISM, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
        self._stage = _Stage.PROVING
        return Expected(kind=Kind.ACCEPT)

    def _expect_token(self, token: bytes, now_ms: int) -> Expected:
        if self._then.mechanism == PLAIN:
            _, user, password = token.decode().split("\0")
            return self._expect_end_of_proof(user, password, now_ms)
        if self._claimed is None:
            self._claimed = token.decode().split(",")[2].removeprefix("n=")
            return Expected(kind=Kind.ACCEPT)
        return self._expect_end_of_proof(self._claimed, self._passwords.get(self._claimed), now_ms)

    def _expect_end_of_proof(self, user: str, password: str | None, now_ms: int) -> Expected:
        if password is None or self._then.passwords.get(user) != password:
            is_removed = user in self._then.removed and password is not None
            wrong = Cause.REPLAYED_PROOF if password is None else Cause.WRONG_PROOF
            return self._end(Cause.REMOVED_USER if is_removed else wrong, ErrorCode.SASL_AUTHENTICATION_FAILED)
        if self.user not in (None, user):
            return self._end(Cause.OTHER_USER, ErrorCode.SASL_AUTHENTICATION_FAILED)
        is_again = self.user is not None
        self.user, self._stage, self._count = user, _Stage.PROVED, 0
        if self._then.max_reauth_ms:
            self._expires_ms = now_ms + self._then.max_reauth_ms
        return Expected(kind=Kind.ACCEPT, proves_again=is_again)

    def _end(self, cause: Cause, error: ErrorCode | None = None) -> Expected:
        self._stage = _Stage.ENDED
        return Expected(kind=Kind.END, error=error, why=cause)
