"""Entries of JAAS, the form in which Kafka's keys have user names and passwords.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="node1" password="..." user_spark="...";

Source: Kafka's JaasConfig.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from raft.config.security import login_module
from raft.errors import ConfigError

_TEXT = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s"'=;]++)"""
_OPTION = re.compile(rf"(?P<name>{_TEXT})\s*=\s*(?P<value>{_TEXT})", re.DOTALL)
_ENTRY = re.compile(
    r"(?P<module>[^\s;]+)\s+(?i:required|requisite|sufficient|optional)\b"
    rf"(?P<options>(?:\s*{_TEXT}\s*=\s*{_TEXT})*)\s*;",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:(?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?)|(?P<other>.))", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_USER = "user_"


@dataclass(frozen=True, slots=True, kw_only=True)
class JaasEntry:
    """The options of a login module.

    Fields:
        options: by name; never printed.
    """

    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def parse(cls, text: str, mechanism: str) -> JaasEntry:
        """Return the entry in a text.

        Args:
            text: a value of `sasl.jaas.config`.
            mechanism: that the entry is for.

        Raises:
            ConfigError: it has another form, or characters that are not of Unicode, or is for another mechanism. The
                message does not have the text.
        """
        module = login_module(mechanism)
        expected = f'{module} required username="..." password="...";'
        match = _ENTRY.fullmatch(text.strip())
        if match is None or any("\ud800" <= character <= "\udfff" for character in text):
            raise ConfigError(f"the entry of sasl.jaas.config for {mechanism} is malformed: expected {expected}")
        if match["module"] != module:
            raise ConfigError(f"the entry of sasl.jaas.config is not for {mechanism}: expected {expected}")
        options = _OPTION.finditer(match["options"])
        return cls(options={_text_of(option["name"]): _text_of(option["value"]) for option in options})

    def own_credentials(self) -> tuple[str, str]:
        """Return the user name and the password of this side.

        Raises:
            ConfigError: one of them is missing.
        """
        name, password = self.options.get("username"), self.options.get("password")
        if not name or not password:
            missing = "password" if name else "username"
            raise ConfigError(f'the entry of sasl.jaas.config has no {missing}: expected username="..." password="..."')
        return name, password

    def users(self) -> dict[str, str]:
        """Return the passwords of the users that the entry has, by their names."""
        return {name.removeprefix(_USER): password for name, password in self.options.items() if name.startswith(_USER)}


def _text_of(written: str) -> str:
    """Return the text without its quotation marks and escapes, which are those of Java's StreamTokenizer."""
    return _ESCAPE.sub(_character, written[1:-1]) if written[0] in "\"'" else written


def _character(escape: re.Match[str]) -> str:
    other = escape["other"]
    return chr(int(escape["octal"], 8)) if other is None else _CONTROL.get(other, other)
