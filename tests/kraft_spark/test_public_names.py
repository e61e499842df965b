"""What `kraft_spark` offers, and what `help` shows of it."""

from __future__ import annotations

import pydoc
from importlib.metadata import version

import kraft_spark
import raft


def test_version_is_that_of_the_package() -> None:
    assert kraft_spark.__version__ == raft.__version__ == version("kraft-spark")


def test_every_public_name_exists_and_is_documented() -> None:
    assert sorted(kraft_spark.__all__) == kraft_spark.__all__
    for name in kraft_spark.__all__:
        value = getattr(kraft_spark, name)
        assert name == "__version__" or value.__doc__, name


def test_help_names_every_public_name_and_the_version() -> None:
    shown = pydoc.plain(pydoc.render_doc(kraft_spark))

    described, _, rest = shown.partition("\nPACKAGE CONTENTS")
    assert not [name for name in kraft_spark.__all__ if name != "__version__" and name not in described]
    assert f"VERSION\n    {kraft_spark.__version__}" in rest
