"""A checkout of this project that is measured: this one, or another one to compare with."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from raft.errors import ConfigError

_ROOT = Path(__file__).parents[1]
_WHERE = "import datasource, raft; print(raft.__file__, datasource.__file__, sep='\\n')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A work tree and the Python that runs it.

    Fields:
        root: its folder.
        python: the Python of an environment in which the project is installed from this folder.
    """

    root: Path
    python: Path

    @classmethod
    def this(cls) -> Self:
        """Return the checkout of this program."""
        return cls(root=_ROOT, python=Path(sys.executable))

    @classmethod
    def at(cls, root: Path) -> Self:
        """Return another checkout, in which `make setup` was run.

        Raises:
            ConfigError: it has no environment, or its environment runs the code of another folder.
        """
        checkout = cls(root=root.resolve(), python=root.resolve() / ".venv" / "bin" / "python")
        if not checkout.python.exists():
            raise ConfigError(f"{root}: expected a checkout with {checkout.python}; run `make setup` in it first")
        found = subprocess.run([checkout.python, "-P", "-c", _WHERE], capture_output=True, text=True, check=False)
        other_files = [path for path in found.stdout.splitlines() if not Path(path).is_relative_to(checkout.root)]
        # With PYTHONPATH set to this checkout, both columns would have the figures of the same code.
        if found.returncode != 0 or other_files:
            raise ConfigError(
                f"{checkout.python}: expected to run the code of {checkout.root}, runs {other_files or found.stderr}; "
                "unset PYTHONPATH, and run `make setup` there"
            )
        return checkout

    @property
    def commit(self) -> str:
        """Return the commit that is checked out, and whether files differ from it."""
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        return described.stdout.strip() or "unknown"
