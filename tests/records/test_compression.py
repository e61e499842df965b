import gzip
import os
import struct
import time
import tracemalloc

import aiokafka.codec
import cramjam
import pytest

from raft.errors import DecodeError, DecompressedTooLargeError
from raft.records import snappy
from raft.records.compression import Compression, compress, decompress

CODECS = [pytest.param(codec, id=codec.name.lower()) for codec in Compression]
REAL_CODECS = [pytest.param(codec, id=codec.name.lower()) for codec in Compression if codec is not Compression.NONE]
TEXT = b"leader epoch high watermark " * 10_000

AIOKAFKA = {
    Compression.GZIP: (aiokafka.codec.gzip_encode, aiokafka.codec.gzip_decode),
    Compression.SNAPPY: (aiokafka.codec.snappy_encode, aiokafka.codec.snappy_decode),
    Compression.LZ4: (aiokafka.codec.lz4_encode, aiokafka.codec.lz4_decode),
    Compression.ZSTD: (aiokafka.codec.zstd_encode, aiokafka.codec.zstd_decode),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "data",
    [pytest.param(b"", id="nothing"), pytest.param(b"a", id="one byte"), pytest.param(TEXT, id="text")],
)
def test_codec_gives_data_back_when_decompressed(codec: Compression, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_codec_gives_data_back_when_it_cannot_shrink(codec: Compression) -> None:
    data = os.urandom(300_000)

    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_aiokafka_reads_codec_when_we_compress(codec: Compression) -> None:
    _encode, decode = AIOKAFKA[codec]

    assert decode(compress(codec, TEXT)) == TEXT


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_codec_reads_aiokafka_when_it_compresses(codec: Compression) -> None:
    encode, _decode = AIOKAFKA[codec]

    assert decompress(codec, encode(TEXT)) == TEXT


def test_snappy_reads_raw_block_when_there_is_no_framing() -> None:
    raw = bytes(cramjam.snappy.compress_raw(TEXT))

    assert decompress(Compression.SNAPPY, raw) == TEXT


def test_snappy_reads_framing_when_streams_follow_each_other() -> None:
    # Java's SnappyInputStream accepts a header in place of a block.
    framed = snappy.compress(b"one ") + snappy.compress(b"two")

    assert decompress(Compression.SNAPPY, framed) == b"one two"


def test_snappy_writes_xerial_framing_with_blocks_of_32_kib() -> None:
    framed = compress(Compression.SNAPPY, bytes(40_000))

    (first_bytes,) = struct.unpack_from(">i", framed, 16)
    assert framed[:16].hex() == "82534e41505059000000000100000001"
    assert cramjam.snappy.decompress_raw_len(framed[20 : 20 + first_bytes]) == 32 * 1024


def test_lz4_writes_independent_blocks_because_java_refuses_linked_ones() -> None:
    frame = compress(Compression.LZ4, TEXT)

    assert frame[:4].hex() == "04224d18"
    assert frame[4] & 0x20, "block independence flag"


def test_gzip_reads_members_that_follow_each_other() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (2 << 20) + 2, (3 << 20) + 5])
def test_gzip_reads_what_comes_out_in_several_parts(size: int) -> None:
    data = gzip.compress(bytes(size)) + gzip.compress(b"the end")

    assert decompress(Compression.GZIP, data) == bytes(size) + b"the end"
    assert decompress(Compression.GZIP, data, max_bytes=size + 7) == bytes(size) + b"the end"
    with pytest.raises(DecompressedTooLargeError):
        decompress(Compression.GZIP, data, max_bytes=size + 6)
    with pytest.raises(DecodeError, match="is incomplete"):
        decompress(Compression.GZIP, data[:-1])


def test_gzip_takes_time_in_proportion_when_members_are_many() -> None:
    member = gzip.compress(b"", mtime=0)

    def processor_time_s(count: int) -> float:
        started_s = time.process_time()
        decompress(Compression.GZIP, member * count)
        return time.process_time() - started_s

    # Eight times as many members. If the rest were copied at every member, it would take 64 times as long.
    assert processor_time_s(104_000) < 30 * processor_time_s(13_000)


@pytest.mark.parametrize("codec", [Compression.LZ4, Compression.ZSTD], ids=lambda codec: codec.name.lower())
def test_codec_holds_no_more_than_is_allowed_when_it_guesses_again(codec: Compression) -> None:
    broken = compress(codec, TEXT)[:-9]

    tracemalloc.start()
    with pytest.raises(DecodeError):
        decompress(codec, broken, max_bytes=1 << 20)
    _now_bytes, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < (1 << 20) + (64 << 10)


@pytest.mark.parametrize("codec", CODECS)
def test_codec_takes_data_when_it_is_as_large_as_allowed(codec: Compression) -> None:
    assert decompress(codec, compress(codec, TEXT), max_bytes=len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", CODECS)
def test_codec_refuses_data_when_it_decompresses_to_one_byte_more_than_allowed(codec: Compression) -> None:
    with pytest.raises(DecodeError, match=r"more than|at most"):
        decompress(codec, compress(codec, TEXT), max_bytes=len(TEXT) - 1)


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_codec_refuses_data_that_decompresses_to_too_much_before_it_takes_the_memory(codec: Compression) -> None:
    bomb = compress(codec, bytes(100 << 20))

    tracemalloc.start()
    with pytest.raises(DecodeError):
        decompress(codec, bomb, max_bytes=1 << 20)
    _now_bytes, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 8 << 20


@pytest.mark.parametrize("codec", REAL_CODECS)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:-1], id="last byte missing"),
        pytest.param(lambda data: data[: len(data) // 2], id="second half missing"),
        pytest.param(lambda data: data + b"junk!", id="junk behind"),
        pytest.param(lambda _data: b"", id="nothing"),
        pytest.param(lambda _data: b"no such data", id="something else"),
    ],
)
def test_codec_refuses_data_when_damaged(codec: Compression, damage) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DecodeError):
        decompress(codec, damage(compress(codec, os.urandom(5_000))), max_bytes=1 << 20)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(snappy.compress(b"data")[:18], id="truncated in a size"),
        pytest.param(snappy.compress(b"data")[:-1], id="truncated in a block"),
        pytest.param(snappy.compress(b"data") + struct.pack(">i", -5), id="negative size"),
        pytest.param(snappy.compress(b"data") + b"junk!", id="junk for a size"),
        pytest.param(snappy.compress(b"")[:12], id="truncated in the header"),
    ],
)
def test_snappy_refuses_data_when_framing_is_broken(data: bytes) -> None:
    with pytest.raises(DecodeError, match="snappy"):
        decompress(Compression.SNAPPY, data, max_bytes=1 << 40)


def test_snappy_refuses_block_before_it_takes_the_memory_that_is_claimed() -> None:
    with pytest.raises(DecodeError, match="7 bytes with an impossible decompressed size of 4294967295"):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\xff\x0fab", max_bytes=1 << 40)


@pytest.mark.parametrize("code", [5, 6, 7])
def test_decompress_refuses_codec_when_unknown(code: int) -> None:
    with pytest.raises(DecodeError, match=f"codec {code}"):
        decompress(code, b"data")
