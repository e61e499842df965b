import random

import pytest

from tests.oracles.murmur import murmur_hash

SMHASHER_VERIFICATION = 0x1F0D3804
"""What SMHasher, the test of hash functions by the author of this one, names for MurmurHash64A."""


def test_hash_is_the_one_of_its_author() -> None:
    hashes = b"".join(murmur_hash(bytes(range(size)), seed=256 - size).to_bytes(8, "little") for size in range(256))

    assert murmur_hash(hashes) & 0xFFFFFFFF == SMHASHER_VERIFICATION


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 100])
def test_hash_changes_with_each_bit(size: int) -> None:
    data = random.Random(size).randbytes(size)

    hashes = {murmur_hash(data)}
    for bit in range(8 * size):
        changed = int.from_bytes(data, "little") ^ 1 << bit
        hashes.add(murmur_hash(changed.to_bytes(size, "little")))

    assert len(hashes) == 8 * size + 1
