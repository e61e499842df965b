"""The contract of decoders, with inputs of hypothesis, which shrinks those that cause a violation."""

from __future__ import annotations

import json

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.fuzz.decoder import Decoder, Sample
from tests.fuzz.decoders import DECODERS
from tests.fuzz.trial import Trial

every_decoder = pytest.mark.parametrize("decoder", [pytest.param(decoder, id=decoder.name) for decoder in DECODERS])

json_values: SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

packable_values: SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text(max_size=10)
    | st.binary(max_size=10)
    | st.builds(msgpack.Timestamp, st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 999_999_999)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(0, 9), inner),
    max_leaves=5,
)


def decoder_named(name: str) -> Decoder:
    return next(decoder for decoder in DECODERS if decoder.name == name)


def samples(decoder: Decoder) -> SearchStrategy[Sample]:
    return st.sampled_from(decoder.samples)


def objects_like(content: bytes) -> SearchStrategy[bytes]:
    """Return JSON objects with keys of the given one, and with its values or any others."""
    kept = json.loads(content)
    values = {key: st.just(value) | json_values for key, value in kept.items()}
    return st.fixed_dictionaries({}, optional=values).map(lambda value: json.dumps(value).encode())


@every_decoder
def test_decoder_keeps_its_contract_when_bytes_are_any(decoder: Decoder) -> None:
    @given(sample=samples(decoder), content=st.binary(max_size=300))
    def check(sample: Sample, content: bytes) -> None:
        Trial(decoder=decoder, sample=sample, content=content).run()

    check()


@every_decoder
def test_decoder_keeps_its_contract_when_a_piece_is_replaced(decoder: Decoder) -> None:
    @given(sample=samples(decoder), data=st.data())
    def check(sample: Sample, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(sample.content)))
        end = data.draw(st.integers(start, min(start + 8, len(sample.content))))
        piece = data.draw(st.binary(max_size=8))
        content = sample.content[:start] + piece + sample.content[end:]
        Trial(decoder=decoder, sample=sample, content=content).run()

    check()


@pytest.mark.parametrize("name", ["quorum-state", "offsets"])
def test_reader_of_json_keeps_its_contract_when_values_are_any(name: str) -> None:
    decoder = decoder_named(name)

    @given(sample=samples(decoder), data=st.data())
    def check(sample: Sample, data: st.DataObject) -> None:
        content = data.draw(objects_like(sample.content))
        Trial(decoder=decoder, sample=sample, content=content).run()

    check()


def test_reader_of_rows_keeps_its_contract_when_values_are_any() -> None:
    decoder = decoder_named("msgpack")
    sample = decoder.samples[0]
    names = list(msgpack.unpackb(sample.content, timestamp=0))

    @given(st.fixed_dictionaries({}, optional=dict.fromkeys(names, packable_values)))
    def check(row: dict[str, object]) -> None:
        Trial(decoder=decoder, sample=sample, content=msgpack.packb(row)).run()

    check()
