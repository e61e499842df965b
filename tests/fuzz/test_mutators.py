"""Each mutator does its kind of damage to bytes of any length, decided by the random numbers alone."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.mutators import MAX_BYTES, MUTATORS, Mutator, delete, duplicate, insert, mutated, splice, truncate

CONTENT = bytes(range(1, 101))
OTHER = b"other" * 30

LENGTHS: dict[Mutator, range] = {
    truncate: range(100),
    delete: range(68, 100),
    insert: range(101, 133),
    duplicate: range(101, 201),
    splice: range(251),
}
"""The possible lengths after a mutation of a hundred bytes; the other mutators keep the length, or nearly."""

every_mutator = pytest.mark.parametrize(
    "mutator", [pytest.param(each, id=each.__name__) for each in dict.fromkeys(MUTATORS)]
)


@every_mutator
def test_mutator_does_damage_of_its_kind(mutator: Mutator) -> None:
    random = Random(1)
    changed_count = 0

    for _ in range(100):
        content = bytearray(CONTENT)
        mutator(random, content, [OTHER])
        assert len(content) in LENGTHS.get(mutator, range(95, 112))
        changed_count += bytes(content) != CONTENT

    assert changed_count > 80


@every_mutator
def test_mutator_mutates_a_single_byte(mutator: Mutator) -> None:
    for seed in range(50):
        mutator(Random(seed), bytearray(b"x"), [b""])


def test_mutation_is_the_same_when_the_random_numbers_are() -> None:
    once, again = ([mutated(Random(seed), CONTENT, [OTHER]) for seed in range(100)] for _ in "12")

    assert once == again


def test_words_are_inserted_in_text() -> None:
    random = Random(1)

    texts = [mutated(random, b'{"version":1}', [b"{}"], [b"null"]) for _ in range(100)]

    assert sum(b"null" in text for text in texts) > 30


def test_bytes_grow_no_larger_than_allowed() -> None:
    random = Random(1)

    assert all(len(mutated(random, bytes(MAX_BYTES), [OTHER])) <= MAX_BYTES for _ in range(50))
