"""What a declared class is, and which declarations are refused."""

import dataclasses

import pytest

from raft.codec import INT32, STRING, Message, decode, encode, field, message


@message(api_key=99, versions="2-4", flexible="3+")
class Example(Message):
    number: int = field(INT32)
    text: str = field(STRING, default="none")


def test_declared_class_is_a_frozen_dataclass_with_slots() -> None:
    example = Example(number=1)

    assert example == Example(number=1, text="none")
    assert hash(example) == hash(Example(number=1))
    assert repr(example) == "Example(number=1, text='none')"
    assert dataclasses.replace(example, text="more") == Example(number=1, text="more")
    assert not hasattr(example, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(example, "number", 2)  # noqa: B010 - mypy refuses the plain assignment, and that is the point


def test_decoded_message_is_like_any_other() -> None:
    example = Example(number=1, text="more")

    decoded = decode(Example, 2, encode(example, 2))

    assert type(decoded) is Example
    assert (decoded, hash(decoded), repr(decoded)) == (example, hash(example), repr(example))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(decoded, "number", 2)  # noqa: B010 - see above


def test_declared_class_needs_its_fields_by_name() -> None:
    with pytest.raises(TypeError, match="number"):
        Example()  # type: ignore[call-arg]  # the error under test
    with pytest.raises(TypeError, match="positional"):
        Example(1, "text")  # type: ignore[call-arg, arg-type]  # the error under test


def test_declaration_keeps_the_form_of_the_message() -> None:
    schema = Example.__schema__

    assert schema.api_key == 99
    assert list(schema.versions) == [2, 3, 4]
    assert [version in schema.flexible for version in schema.versions] == [False, True, True]
    assert [declared.name for declared in schema.struct.fields] == ["number", "text"]


@pytest.mark.parametrize(
    "absence",
    [pytest.param({"versions": "1+"}, id="not in all versions"), pytest.param({"tag": 0}, id="tagged")],
)
def test_declaration_without_default_is_refused_when_a_message_can_lack_the_field(absence: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="needs a default"):
        field(INT32, **absence)  # type: ignore[call-overload]  # mypy cannot see into the dictionary
