"""The neighbour's side of SCRAM-SHA-512, which hashes its password once for all connections."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from functools import cache

MECHANISM = "SCRAM-SHA-512"
_HASH = "sha512"
_WITHOUT_BINDING = b64encode(b"n,,").decode()


class ScramProof:
    """One proof of a name.

    Args:
        user: the name.
        password: of the user, or another one.
        nonce: of the client.
    """

    def __init__(self, user: str, password: str, nonce: str) -> None:
        self._password = password
        self._bare = f"n={user},r={nonce}"

    @property
    def first(self) -> bytes:
        """The first message."""
        return f"n,,{self._bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """Return the last message.

        Args:
            challenge: the first message of the node.
        """
        fields = dict(field.split("=", 1) for field in challenge.decode().split(","))
        salted = _salted(self._password, b64decode(fields["s"]), int(fields["i"]))
        bare = f"c={_WITHOUT_BINDING},r={fields['r']}"
        client_key = hmac.digest(salted, b"Client Key", _HASH)
        stored_key = hashlib.new(_HASH, client_key).digest()
        signature = hmac.digest(stored_key, f"{self._bare},{challenge.decode()},{bare}".encode(), _HASH)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        return f"{bare},p={b64encode(proof).decode()}".encode()


@cache
def _salted(password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(_HASH, password.encode(), salt, iterations)
