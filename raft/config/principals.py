r"""The names of clients with certificates: `ssl.principal.mapping.rules`.

    RULE:^CN=([^,]+),.*$/$1/L, RULE:^CN=(.*)$/$1/, DEFAULT

The first rule whose pattern matches the whole subject gives the name: the replacement, with $1, $2, ... for the groups
of the pattern, in lower case with L and in upper case with U. DEFAULT gives the subject itself.

As in Kafka, each match of the pattern in the subject is replaced, so a pattern begins with ^ and ends with $. As in
Java, \w, \d and (?i) know the letters and digits of ASCII only.

Source: KIP-371; Kafka's SslPrincipalMapper.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from raft.config import values

_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?)|)"
    r"\s*(?:,|\Z)"
)
"""One rule with the comma after it; an empty one does not count."""

_EXPECTED = "rules such as RULE:^CN=([^,]+),.*$/$1/L, DEFAULT"
_GROUP = re.compile(r"\\(?P<literal>.)|\$(?P<number>[0-9]{0,9})", re.DOTALL)
_NO_PATTERN = (re.error, ValueError, OverflowError, RecursionError, Warning)
"""Why a text is no pattern. Python warns where sets of characters have another meaning in Java."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalRule:
    """One rule.

    Fields:
        pattern: matches the whole subject; None for DEFAULT.
        replacement: the name, with references to groups.
        case: "L", "U" or "".
    """

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, subject: str) -> str | None:
        """Return the name; None if the rule does not match."""
        if self.pattern is None:
            return subject
        if self.pattern.fullmatch(subject) is None:
            return None
        name = self.pattern.sub(self._name_of, subject)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)

    def _name_of(self, match: re.Match[str]) -> str:
        return _GROUP.sub(lambda reference: _text_of(reference, match), self.replacement)


@dataclass(frozen=True, slots=True)
class PrincipalRules:
    """The rules of a listener, in their order."""

    rules: tuple[PrincipalRule, ...] = (PrincipalRule(),)

    @classmethod
    def parse(cls, key: str, text: str) -> PrincipalRules:
        """Return the rules in a text; DEFAULT if it is empty.

        Raises:
            ConfigError: it has another form, or a pattern is no regular expression.
        """
        if not text.strip():
            return cls()
        rules: list[PrincipalRule] = []
        position = 0
        while position < len(text):
            match = _RULE.match(text, position)
            if match is None:
                raise values.refuse(key, text, _EXPECTED)
            rules += _rules(key, text, match)
            position = match.end()
        if not rules:
            raise values.refuse(key, text, _EXPECTED)
        return cls(tuple(rules))

    def name_of(self, subject: str) -> str | None:
        """Return the name of a client.

        Args:
            subject: of its certificate, in the form of RFC 2253.

        Returns:
            None if no rule matches.
        """
        return next((name for rule in self.rules if (name := rule.apply(subject)) is not None), None)


NO_RULES = PrincipalRules()
"""The subject itself is the name."""


def _rules(key: str, text: str, match: re.Match[str]) -> Iterator[PrincipalRule]:
    if match["default"]:
        yield PrincipalRule()
    elif match["pattern"] is not None:
        pattern = _pattern(key, text, match["pattern"])
        for reference in _GROUP.finditer(match["replacement"]):
            number = reference["number"]
            if number == "" or (number is not None and number[0] != "0" and not pattern.groups):
                raise values.refuse(
                    key, text, f"{_EXPECTED}; {reference[0]} is no group of {match['pattern']}, and \\$ stands for $"
                )
        yield PrincipalRule(pattern=pattern, replacement=match["replacement"], case=match["case"])


def _pattern(key: str, text: str, pattern: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(pattern, re.ASCII)
    except _NO_PATTERN as error:
        raise values.refuse(key, text, f"{_EXPECTED}; {pattern} is no regular expression: {error}") from error


def _text_of(reference: re.Match[str], match: re.Match[str]) -> str:
    """Return what a reference in a replacement stands for. Digits that name no group are text, as in Java."""
    if reference["literal"] is not None:
        return reference["literal"]
    number = reference["number"]
    for length in range(len(number), 0, -1):
        if int(number[:length]) <= match.re.groups:
            return (match[int(number[:length])] or "") + number[length:]
    return f"${number}"
