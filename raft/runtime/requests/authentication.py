"""Whether the name of a caller is proved, and the requests by which it proves it: SaslHandshake and SaslAuthenticate.

A wrong proof is answered late, so that passwords cannot be tried fast, and then the connection is closed.

Source: KIP-43, KIP-152, KIP-306 (the delay), KIP-368; Kafka's SaslServerAuthenticator.
"""

from __future__ import annotations

from raft.codec import Message
from raft.errors import AuthenticationError, ErrorCode
from raft.runtime.drop_cause import DropCause
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_session import SaslSession, SaslState
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

_NONCES = 1 << 160


def is_authenticated(context: Context, request: Request[Message]) -> bool:
    """Return whether to handle a request. If not, this function responds to it, or closes the connection."""
    caller, message = request.caller, request.message
    if not caller.is_admitted:
        context.count(caller, AuthenticationOutcome.FAILED)
        request.hang_up("its certificate was not accepted", DropCause.FAILED_AUTHENTICATION)
        return False
    session = caller.sasl
    if session is None:
        if isinstance(message, SaslHandshakeRequest | SaslAuthenticateRequest):
            request.respond(_illegal_state(message, "the listener does not use SASL"))
            return False
        return True
    match message:
        case _ if session.state is SaslState.FAILED:
            return False  # The connection ends after the delay.
        case SaslHandshakeRequest() if session.state in (SaslState.NEW, SaslState.COMPLETE):
            _on_handshake(context, request, session, message)
            return False
        case SaslAuthenticateRequest() if session.state is SaslState.PROVING:
            _on_token(context, request, session, message)
            return False
        case SaslHandshakeRequest() | SaslAuthenticateRequest():
            _fail(context, request, session, "the request may not come now", _illegal_state(message))
            return False
        case _ if session.state is SaslState.COMPLETE:
            if session.has_expired(context.scheduler.now_ms()):
                context.count(caller, AuthenticationOutcome.EXPIRED)
                request.hang_up("its session has expired (connections.max.reauth.ms)", DropCause.EXPIRED_SESSION)
                return False
            return True
        case ApiVersionsRequest() if session.state is SaslState.NEW:
            return _is_counted(context, request, session)
        case _:
            _fail(context, request, session, f"{type(message).__name__} came before authentication", None)
            return False


def _on_handshake(
    context: Context, request: Request[Message], session: SaslSession, message: SaslHandshakeRequest
) -> None:
    if not _is_counted(context, request, session):
        return

    def response(error: ErrorCode) -> SaslHandshakeResponse:
        return SaslHandshakeResponse(error_code=error, mechanisms=session.mechanisms)

    if request.version == 0:
        refusal = response(ErrorCode.UNSUPPORTED_VERSION)
        _fail(context, request, session, "SaslHandshake has version 0", refusal)
        return
    if message.mechanism not in session.mechanisms:
        reason = f"it chose an unsupported SASL mechanism; expected {', '.join(session.mechanisms)}"
        _fail(context, request, session, reason, response(ErrorCode.UNSUPPORTED_SASL_MECHANISM))
        return
    try:
        session.begin(message.mechanism, f"{context.draw(_NONCES):040x}")
    except AuthenticationError as error:
        _fail(context, request, session, str(error), response(ErrorCode.SASL_AUTHENTICATION_FAILED))
    else:
        request.respond(response(ErrorCode.NONE))


def _on_token(
    context: Context, request: Request[Message], session: SaslSession, message: SaslAuthenticateRequest
) -> None:
    if not _is_counted(context, request, session):
        return
    was_known = session.is_reauthentication
    try:
        step = session.take(message.auth_bytes, context.scheduler.now_ms())
    except AuthenticationError as error:
        refusal = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(error), auth_bytes=b""
        )
        _fail(context, request, session, "; ".join([str(error), *getattr(error, "__notes__", ())]), refusal)
        return
    if session.state is SaslState.COMPLETE:
        request.caller.principal = f"User:{session.user}"
        context.count(
            request.caller, AuthenticationOutcome.SUCCESSFUL_AGAIN if was_known else AuthenticationOutcome.SUCCESSFUL
        )
    request.respond(
        SaslAuthenticateResponse(
            error_code=ErrorCode.NONE,
            error_message=None,
            auth_bytes=step.token,
            session_lifetime_ms=step.session_lifetime_ms,
        )
    )


def _is_counted(context: Context, request: Request[Message], session: SaslSession) -> bool:
    try:
        session.count_request()
    except AuthenticationError as error:
        _fail(context, request, session, str(error), None)
        return False
    return True


def _fail(
    context: Context, request: Request[Message], session: SaslSession, reason: str, response: Message | None
) -> None:
    """End the connection after a delay, with the response first if there is one."""
    session.fail()
    context.count(
        request.caller,
        AuthenticationOutcome.FAILED_AGAIN if session.is_reauthentication else AuthenticationOutcome.FAILED,
    )
    context.scheduler.at(
        context.scheduler.now_ms() + context.config.failed_authentication_delay_ms,
        lambda: request.end(response, f"it did not authenticate: {reason}", DropCause.FAILED_AUTHENTICATION),
    )


def _illegal_state(message: SaslHandshakeRequest | SaslAuthenticateRequest, reason: str | None = None) -> Message:
    if isinstance(message, SaslHandshakeRequest):
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=reason, auth_bytes=b"")
