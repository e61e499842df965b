"""The source of a generated function of the codec, and the compiled function.

For each line the field that it reads or writes is stored, so an error can name its field, and calls that succeed cost
nothing more.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Part:
    """A value of fixed size, which one line reads or writes together with its neighbours.

    Fields:
        path: of its field.
        code: its type in the notation of the `struct` module.
        expression: the Python expression for its value.
    """

    path: str
    code: str
    expression: str


Run: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """The field of a line: its path, the names from the message to the field, joined by dots; or a run of fields."""

    path: str = ""
    run: Run = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled function: its title for messages, and the mark of each line."""

    title: str
    marks: tuple[Mark, ...]
    function: Callable[..., Any]

    def failure(self, error: Exception) -> tuple[FrameType, Mark]:
        """Return the frame of the function when it raised `error`, and the mark of the line."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self.function.__code__:
            traceback = traceback.tb_next
        assert traceback is not None, "the error must have passed through the function"
        return traceback.tb_frame, self.marks[traceback.tb_lineno - 1]


class GeneratedSource:
    """The source of a function while it is generated.

    Args:
        title: what the function does, for error messages and tracebacks.
        signature: its name and parameters.
        namespace: names that the source uses besides builtins.
        write_run: returns the lines that read or write a run of parts.
    """

    def __init__(
        self, title: str, signature: str, namespace: dict[str, object], write_run: Callable[[Run], list[str]]
    ) -> None:
        self._title = title
        self._name = signature.partition("(")[0]
        self._namespace = dict(namespace)
        self._write_run = write_run
        self._lines = [f"def {signature}:"]
        self._marks = [Mark()]
        self._indent = 1
        self._path = ""
        self._run: list[Part] = []
        self._locals = 0

    def line(self, text: str) -> None:
        """Add one line."""
        self._end_run()
        self._add(text, Mark(self._path))

    def part(self, code: str, expression: str) -> None:
        """Add a value of fixed size. One line handles it with its neighbours, so it must not depend on them."""
        self._run.append(Part(self._path, code, expression))

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Add a line that opens a block; the lines of the with statement are inside the block."""
        self.line(opening)
        self._indent += 1
        yield
        self._end_run()
        self._indent -= 1

    @contextmanager
    def serving(self, name: str) -> Iterator[None]:
        """Mark the lines of the with statement as those of the field `name`."""
        outer = self._path
        self._path = f"{outer}.{name}" if outer else name
        yield
        self._path = outer

    def local(self, hint: str) -> str:
        """Return a new name of a variable."""
        self._locals += 1
        return f"{hint}_{self._locals}"

    def constant(self, hint: str, value: object) -> str:
        """Return a name for `value` in the source; simple values are returned as literals."""
        if value is None or isinstance(value, (bool, int, str, bytes)) or value == ():
            return repr(value)
        name = hint
        while self._namespace.setdefault(name, value) is not value:
            name += "_"
        return name

    def compile(self) -> Compiled:
        """Compile the function."""
        self._end_run()
        file_name, lines = f"<{self._title}>", [f"{line}\n" for line in self._lines]
        # The source is generated from declarations in this repository only, never from data of a peer.
        exec(compile("".join(lines), file_name, "exec"), self._namespace)  # noqa: S102
        # Tracebacks and debuggers find the lines here, because there is no file.
        linecache.cache[file_name] = (sum(map(len, lines)), None, lines, file_name)
        function: Any = self._namespace[self._name]
        return Compiled(self._title, tuple(self._marks), function)

    def _end_run(self) -> None:
        if self._run:
            run, self._run = tuple(self._run), []
            for text in self._write_run(run):
                self._add(text, Mark(run=run))

    def _add(self, text: str, mark: Mark) -> None:
        self._lines.append("    " * self._indent + text)
        self._marks.append(mark)
