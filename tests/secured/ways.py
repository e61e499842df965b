"""The ways to connect to the quorum of these tests: protocol, mechanism, certificate."""

from __future__ import annotations

from dataclasses import dataclass

from raft.config.security import SecurityProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to connect.

    Fields:
        listener: the name of the listener.
        protocol: of the listener.
        mechanism: of SASL; None without SASL.
        has_certificate: whether the client has a certificate.
    """

    listener: str
    protocol: SecurityProtocol
    mechanism: str | None = None
    has_certificate: bool = False

    def __str__(self) -> str:
        if self.mechanism is not None:
            return f"{self.protocol.value} {self.mechanism}"
        return f"{self.protocol.value} {'with' if self.has_certificate else 'without'} a certificate"


_ENCRYPTED_SCRAM = [
    Way(listener="SASL_SSL", protocol=SecurityProtocol.SASL_SSL, mechanism=mechanism)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
]
_PLAIN_SCRAM = [
    Way(listener="SASL_PLAINTEXT", protocol=SecurityProtocol.SASL_PLAINTEXT, mechanism=mechanism)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
]

PLAIN = Way(listener="SASL_SSL", protocol=SecurityProtocol.SASL_SSL, mechanism="PLAIN")
SCRAM = _ENCRYPTED_SCRAM[1]
MUTUAL = Way(listener="MUTUAL", protocol=SecurityProtocol.SSL, has_certificate=True)
"""The listener requires a certificate of the client."""

ENCRYPTED = Way(listener="SSL", protocol=SecurityProtocol.SSL)
"""The listener takes clients without a certificate too."""

WAYS = (PLAIN, *_ENCRYPTED_SCRAM, MUTUAL, ENCRYPTED, *_PLAIN_SCRAM)
"""Each of them has the same clients, and does the same."""

BRIEF_WAYS = tuple(
    Way(listener="BRIEF", protocol=SecurityProtocol.SASL_SSL, mechanism=mechanism)
    for mechanism in ("PLAIN", "SCRAM-SHA-512")
)
"""A client has to authenticate again soon."""
