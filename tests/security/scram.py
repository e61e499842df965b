"""SCRAM by hand, from the formulas of RFC 5802: proofs that the library does not make, and wrong ones.

SaltedPassword  := Hi(password, salt, iterations)
ClientKey       := HMAC(SaltedPassword, "Client Key")
StoredKey       := H(ClientKey)
AuthMessage     := client-first-bare "," server-first "," client-final-without-proof
ClientProof     := ClientKey XOR HMAC(StoredKey, AuthMessage)
ServerSignature := HMAC(HMAC(SaltedPassword, "Server Key"), AuthMessage)
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass

DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rfc7677:
    """The example of RFC 7677, for SCRAM-SHA-256."""

    user = "user"
    password = "pencil"
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    client_nonce = "rOprNGfwEbeRWgbNEkqO"
    node_nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    client_first = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    node_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    client_final = (
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    node_final = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


RFC_7677 = Rfc7677()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What both sides prove after the first messages.

    Fields:
        mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
        password: of the user.
        client_first: with its GS2 header.
        node_first: the response.
        final_start: the last message of the client, without its proof.
    """

    mechanism: str
    password: str
    client_first: str
    node_first: str
    final_start: str

    @classmethod
    def of(cls, mechanism: str, password: str, client_first: str, node_first: str) -> Proof:
        """The proof of a client that sends what it should."""
        header = ",".join(client_first.split(",")[:2]) + ","
        nonce = node_first.split(",")[0]
        start = f"c={b64encode(header.encode()).decode()},{nonce}"
        return cls(
            mechanism=mechanism,
            password=password,
            client_first=client_first,
            node_first=node_first,
            final_start=start,
        )

    @property
    def client_final(self) -> str:
        """The last message of the client."""
        client_key = self._hmac(self._salted_password, b"Client Key")
        stored_key = hashlib.new(DIGESTS[self.mechanism], client_key).digest()
        signature = self._hmac(stored_key, self._auth_message)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        return f"{self.final_start},p={b64encode(proof).decode()}"

    @property
    def node_final(self) -> str:
        """The last message of the node."""
        server_key = self._hmac(self._salted_password, b"Server Key")
        return f"v={b64encode(self._hmac(server_key, self._auth_message)).decode()}"

    @property
    def _salted_password(self) -> bytes:
        _, salt, iterations = (attribute[2:] for attribute in self.node_first.split(",")[:3])
        return hashlib.pbkdf2_hmac(DIGESTS[self.mechanism], self.password.encode(), b64decode(salt), int(iterations))

    @property
    def _auth_message(self) -> bytes:
        bare = self.client_first.split(",", 2)[2]
        return f"{bare},{self.node_first},{self.final_start}".encode()

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, DIGESTS[self.mechanism])
