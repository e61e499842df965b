"""Changes of certificates, passwords and rules while a quorum is used; see `tests.harness.faults`.

Each of them ends with a check that every node does what the new files say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

from cryptography import x509

from raft.errors import ErrorCode
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.harness.nemesis import Fault
from tests.harness.quorum import Quorum
from tests.harness.quorum_security import APPLICATION, GUEST, QuorumSecurity, endpoint_for_clients
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

_READ_S = 10.0
"""A node looks at its files each second."""

_LOOK_S = 0.1
_INIT_VERSION = 4
_UNUSABLE = (b"", b"-----BEGIN CERTIFICATE-----\n", b"\x00" * 1000, None)
"""Contents of a file that has no certificate; None for the first half of one."""


@contextmanager
def replace_certificate(quorum: Quorum, dice: Random) -> Iterator[str]:
    """A node gets a new certificate."""
    security, node_id = _security(quorum), dice.choice(list(quorum.nodes))
    security.replace_certificate(node_id)
    yield f"node {node_id} gets a new certificate"
    _wait_for_certificate(quorum, node_id)


@contextmanager
def spoil_certificate(quorum: Quorum, dice: Random) -> Iterator[str]:
    """The certificate of a node becomes unusable, and later it gets a new one."""
    security, node_id = _security(quorum), dice.choice(list(quorum.nodes))
    content = dice.choice(_UNUSABLE)
    if content is None:
        whole = security.certificate_file(node_id).read_bytes()
        content = whole[: len(whole) // 2]
    security.spoil_certificate(node_id, content)
    yield f"the certificate of node {node_id} is a file of {len(content)} bytes that cannot be used, and then a new one"
    security.replace_certificate(node_id)
    _wait_for_certificate(quorum, node_id)


@contextmanager
def change_password(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """A user gets another password, on all nodes and in the file of the client."""
    security = _security(quorum)
    security.change_password(APPLICATION)
    yield f"the password of {APPLICATION} is changed"
    passwords = security.passwords(APPLICATION)
    for node_id in quorum.nodes:
        eventually(
            lambda: _accepts(quorum, node_id, passwords.present),  # noqa: B023 - called before the next one
            f"node {node_id} accepts the new password of {APPLICATION}",
            within_s=_READ_S,
            every_s=_LOOK_S,
        )
        assert passwords.former is not None, "it was changed"
        assert not _accepts(quorum, node_id, passwords.former), f"node {node_id} accepts the former password"


@contextmanager
def take_right(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """A user loses the right to append, and gets it back later."""
    security = _security(quorum)
    security.allow_guest(allows=False)
    yield f"the right of {GUEST} to append is taken, and given back"
    _wait_for_rules(quorum, allows=False)
    security.allow_guest(allows=True)
    _wait_for_rules(quorum, allows=True)


SECURITY_FAULTS: Mapping[str, Fault[Quorum]] = {
    "certificate replaced": replace_certificate,
    "certificate unusable": spoil_certificate,
    "password changed": change_password,
    "right taken": take_right,
}
"""Every kind of change by its name."""


def _security(quorum: Quorum) -> QuorumSecurity:
    assert quorum.security is not None, "the quorum is secured"
    return quorum.security


def _wait_for_certificate(quorum: Quorum, node_id: int) -> None:
    security = _security(quorum)
    (certificate, *_) = x509.load_pem_x509_certificates(security.certificate_file(node_id).read_bytes())

    def has_it() -> bool:
        with Wire(endpoint_for_clients(quorum.nodes[node_id].properties), tls=security.keys.tls()) as wire:
            return int(wire.certificate_serial(), 16) == certificate.serial_number

    eventually(has_it, f"node {node_id} has its new certificate", within_s=_READ_S, every_s=_LOOK_S)


def _wait_for_rules(quorum: Quorum, *, allows: bool) -> None:
    for node_id in quorum.nodes:
        eventually(
            lambda: _lets_guest_append(quorum, node_id) is allows,  # noqa: B023 - called before the next one
            f"node {node_id} {'lets' if allows else 'does not let'} {GUEST} append",
            within_s=_READ_S,
            every_s=_LOOK_S,
        )


def _accepts(quorum: Quorum, node_id: int, password: str) -> bool:
    security = _security(quorum)
    with Wire(endpoint_for_clients(quorum.nodes[node_id].properties), tls=security.keys.tls()) as wire:
        return not wire.prove(security.proof(APPLICATION, password)).error_code


def _lets_guest_append(quorum: Quorum, node_id: int) -> bool:
    """Return whether a node gives a producer id to the guest, or sends it to the leader for that."""
    security = _security(quorum)
    with Wire(endpoint_for_clients(quorum.nodes[node_id].properties), tls=security.keys.tls()) as wire:
        proved = wire.prove(security.proof(GUEST))
        assert not proved.error_code, f"node {node_id} refuses the password of {GUEST}: {proved.error_message}"
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        response = wire.ask(request, _INIT_VERSION, InitProducerIdResponse)
        return response.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED
