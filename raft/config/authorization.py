"""Whether a node asks what its callers may do.

    raft.authorization.file=/etc/kraft/authorization.toml
    super.users=User:admin;User:CN=operator,O=example

Source: KIP-801; Kafka's StandardAuthorizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from raft.config import values
from raft.config.listener_security import ListenerSecurity
from raft.config.property import Property, as_text
from raft.errors import ConfigError

FILE = "raft.authorization.file"
SUPER_USERS = "super.users"
ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
_ALLOW_EVERYONE = Property(ALLOW_EVERYONE, values.truth, False, "whether everyone may do everything")
AUTHORIZATION_PROPERTIES = (
    Property(FILE, as_text, None, "file with the rules who may do what, such as conf/authorization.toml"),
    Property(SUPER_USERS, as_text, None, "`User:<name>;...`: they may do everything"),
    _ALLOW_EVERYONE,
)

_PRINCIPAL = "User:"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationSettings:
    """Who may do what.

    Fields:
        file: with the rules; None for none: only super users may do anything.
        super_users: principals that may do everything.
    """

    file: str | None
    super_users: frozenset[str]


def authorization(
    given: Mapping[str, str], listeners: Iterable[tuple[str, ListenerSecurity]]
) -> AuthorizationSettings | None:
    """Return who may do what; None if everyone may do everything.

    Args:
        given: the properties of the node.
        listeners: the names and the security of its listeners.

    Raises:
        ConfigError: a value is wrong; or the node would know the names of its clients, but not what they may do.
    """
    file = given.get(FILE, "").strip() or None
    super_users = frozenset(_principals(given.get(SUPER_USERS, "")))
    allows_everyone = _ALLOW_EVERYONE.value_in(given)
    if allows_everyone and file is not None:
        raise ConfigError(f"expected one of {FILE} and {ALLOW_EVERYONE}=true, not both")
    if allows_everyone:
        return None
    if file is not None or super_users:
        return AuthorizationSettings(file=file, super_users=super_users)
    for name, security in listeners:
        if security.authenticates:
            raise ConfigError(
                f"{FILE} is missing: expected a file that says what the clients of {name} may do, because it is "
                f"{security.protocol.value}; or {ALLOW_EVERYONE}=true, if all of them may do everything"
            )
    return None


def principal(key: str, text: str) -> str:
    """Return a principal: User:<name>.

    Raises:
        ConfigError: it has another form.
    """
    if not text.startswith(_PRINCIPAL) or text == _PRINCIPAL:
        raise values.refuse(key, text, "principals of the form User:<name>")
    return text


def _principals(text: str) -> list[str]:
    # They are separated by semicolons, because the subject of a certificate has commas.
    return [principal(SUPER_USERS, part.strip()) for part in text.split(";") if part.strip()]
