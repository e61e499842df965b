"""The credentials of users for SCRAM: what a node needs to check a password, without the password.

The file is JSON. For each user and mechanism it has Kafka's text form of a credential:

    {"pepper": "...", "users": {"spark": {"SCRAM-SHA-512": "salt=...,stored_key=...,server_key=...,iterations=8192"}}}

The pepper is random, as base64. The salts of users that do not exist are derived from it. It is in the file because all
nodes must invent the same salt, before and after a restart: otherwise a client could see which salts are invented.

Source: RFC 5802; Kafka's ScramCredential and ScramCredentialUtils.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from scramp import ScramException, ScramMechanism

from raft.errors import ConfigError

SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
DEFAULT_ITERATIONS = 8192
LEAST_ITERATIONS = 4096
MOST_ITERATIONS = 1_000_000

SALT_BYTES = 16
PEPPER_BYTES = 32
_LEAST_SALT_BYTES = 12
_KEY_BYTES = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}
_TEXT = re.compile(
    r"salt=(?P<salt>[^,]+),stored_key=(?P<stored_key>[^,]+),server_key=(?P<server_key>[^,]+),"
    r"iterations=(?P<iterations>[0-9]{1,7})"
)
_USER = re.compile(r"[A-Za-z0-9._@+-]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """The credential of one user for one mechanism.

    Fields:
        salt: 12 bytes or more.
        stored_key, server_key: check the proofs of the client, and make that of the node.
        iterations: of PBKDF2.
    """

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @classmethod
    def of_password(
        cls, password: str, mechanism: str, *, salt: bytes, iterations: int = DEFAULT_ITERATIONS
    ) -> ScramCredential:
        """Return the credential for a password.

        Args:
            password: of the user.
            mechanism: one of `SCRAM_MECHANISMS`.
            salt: 16 random bytes.
            iterations: `LEAST_ITERATIONS` to `MOST_ITERATIONS`.

        Raises:
            ConfigError: the password is empty or has characters that SCRAM does not allow, or the number of iterations
                is out of range.
        """
        if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise ConfigError(f"iterations={iterations}: expected {LEAST_ITERATIONS} to {MOST_ITERATIONS}")
        if not password:
            raise ConfigError("the password is empty: expected a text")
        try:
            made = ScramMechanism(mechanism).make_auth_info(password, iteration_count=iterations, salt=salt)
        except ScramException as error:
            raise ConfigError("the password has characters that SCRAM does not allow (RFC 4013)") from error
        _, stored_key, server_key, _ = made
        return cls(salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations)

    @classmethod
    def parse(cls, text: str) -> ScramCredential:
        """Return the credential in Kafka's text form.

        Raises:
            ValueError: it has another form, a short salt, or a number of iterations that is out of range.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError("expected salt=...,stored_key=...,server_key=...,iterations=...")
        try:
            salt, stored_key, server_key = (
                b64decode(match[name], validate=True) for name in ("salt", "stored_key", "server_key")
            )
        except ValueError as error:
            raise ValueError(f"expected base64: {error}") from error
        iterations = int(match["iterations"])
        if len(salt) < _LEAST_SALT_BYTES:
            raise ValueError(f"the salt has {len(salt)} bytes: expected {_LEAST_SALT_BYTES} or more")
        if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise ValueError(f"iterations={iterations}: expected {LEAST_ITERATIONS} to {MOST_ITERATIONS}")
        return cls(salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations)

    def to_text(self) -> str:
        """Return Kafka's text form, for the file only: it has the keys."""
        salt, stored_key, server_key = (
            b64encode(value).decode() for value in (self.salt, self.stored_key, self.server_key)
        )
        return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={self.iterations}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of all users.

    Fields:
        by_user: by user name and mechanism.
        pepper: random bytes, see the module; None in a file of an older version, and in one that no command has
            written.
    """

    by_user: Mapping[str, Mapping[str, ScramCredential]] = field(default_factory=lambda: MappingProxyType({}))
    pepper: bytes | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Credentials:
        """Return the credentials in the text of a file.

        Raises:
            ConfigError: it has another form; names the user whose credential is malformed.
        """
        expected = 'expected {"users": {"<name>": {"<mechanism>": "<credential>"}}}, as `kraft credentials` writes it'
        try:
            content = json.loads(text)
            users = content["users"]
            pepper = None if "pepper" not in content else b64decode(content["pepper"], validate=True)
            listed = [(name, dict(mechanisms)) for name, mechanisms in users.items()]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(f"the file of credentials is malformed: {expected}") from error
        if pepper is not None and len(pepper) < PEPPER_BYTES:
            raise ConfigError(f"the pepper in the file of credentials has {len(pepper)} bytes: expected {PEPPER_BYTES}")
        return cls({name: _mechanisms_of(name, mechanisms) for name, mechanisms in listed}, pepper)

    def to_text(self) -> str:
        """Return the text of a file with these credentials."""
        users = {
            name: {mechanism: credential.to_text() for mechanism, credential in sorted(mechanisms.items())}
            for name, mechanisms in sorted(self.by_user.items())
        }
        pepper = {} if self.pepper is None else {"pepper": b64encode(self.pepper).decode()}
        return json.dumps(pepper | {"users": users}, indent=2) + "\n"

    def with_pepper(self, pepper: bytes) -> Credentials:
        """Return these credentials with a pepper, unless they have one.

        Args:
            pepper: `PEPPER_BYTES` random bytes.
        """
        return self if self.pepper is not None else replace(self, pepper=pepper)

    def with_user(self, name: str, mechanism: str, credential: ScramCredential) -> Credentials:
        """Return these credentials with that of a user added, or replaced."""
        return replace(self, by_user={**self.by_user, name: {**self.by_user.get(name, {}), mechanism: credential}})

    def without_user(self, name: str) -> Credentials:
        """Return these credentials without those of a user."""
        others = {other: mechanisms for other, mechanisms in self.by_user.items() if other != name}
        return replace(self, by_user=others)

    def find(self, name: str, mechanism: str, *, pepper: bytes) -> ScramCredential:
        """Return the credential of a user.

        Args:
            name: of the user.
            mechanism: of SCRAM.
            pepper: random bytes of the node, for credentials without a pepper.

        Returns:
            For an unknown user a credential that no password has. It is always the same one, with the salt's length
            and the iterations of a known user, so that no client can find out which users exist.
        """
        # It is made for a known user too, which takes the same time then.
        invented = self._invent(name, mechanism, pepper if self.pepper is None else self.pepper)
        return self.by_user.get(name, {}).get(mechanism, invented)

    def _invent(self, name: str, mechanism: str, pepper: bytes) -> ScramCredential:
        def derived(purpose: str) -> bytes:
            return hmac.digest(pepper, f"{purpose}:{mechanism}:{name}".encode(errors="surrogatepass"), hashlib.sha512)

        known = [credentials[mechanism] for credentials in self.by_user.values() if mechanism in credentials]
        shapes = {(len(credential.salt), credential.iterations) for credential in known}
        # The choice stays the same when a shape that was not chosen is added or removed.
        salt_bytes, iterations = max(
            shapes or {(SALT_BYTES, DEFAULT_ITERATIONS)}, key=lambda shape: derived(f"shape {shape}")
        )
        return ScramCredential(
            salt=derived("salt")[:salt_bytes],
            stored_key=derived("stored key")[: _KEY_BYTES[mechanism]],
            server_key=derived("server key")[: _KEY_BYTES[mechanism]],
            iterations=iterations,
        )


def check_user_name(name: str) -> str:
    """Return the name of a user.

    Raises:
        ConfigError: it has characters that a principal cannot have.
    """
    if not _USER.fullmatch(name):
        raise ConfigError(f"user {name!r}: expected 1 to 200 letters, digits and characters of . _ @ + -")
    return name


def _mechanisms_of(name: str, mechanisms: Mapping[str, object]) -> dict[str, ScramCredential]:
    found = {}
    for mechanism, text in mechanisms.items():
        if mechanism not in SCRAM_MECHANISMS:
            raise ConfigError(
                f"the file of credentials has mechanism {mechanism} for user {name}: expected "
                f"{' or '.join(SCRAM_MECHANISMS)}"
            )
        try:
            credential = ScramCredential.parse(str(text))
            if not len(credential.stored_key) == len(credential.server_key) == _KEY_BYTES[mechanism]:
                raise ValueError(f"expected keys of {_KEY_BYTES[mechanism]} bytes")  # noqa: TRY301 - named below
        except ValueError as error:
            raise ConfigError(f"the file of credentials has a malformed one for user {name}: {error}") from error
        found[mechanism] = credential
    return found
