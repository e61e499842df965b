"""A function of the codec while its source text is being written, and once it is compiled.

Every line remembers which field it serves, so that a failure in the compiled function names its field at no cost to
the calls that succeed.
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
    """One of several neighbours of fixed size that a single line reads or writes.

    Fields:
        path: of the field it belongs to.
        code: its type in the notation of the `struct` module.
        expression: the Python expression for its value.
    """

    path: str
    code: str
    expression: str


Run: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """What a line serves: the names from the message down to a field, joined by dots, or a run of fields."""

    path: str = ""
    run: Run = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """A function made from text: `title` says which, `marks` what each line serves."""

    title: str
    marks: tuple[Mark, ...]
    function: Callable[..., Any]

    def failure(self, error: Exception) -> tuple[FrameType, Mark]:
        """Where this function was when `error` left it: its frame, and the mark of the line."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self.function.__code__:
            traceback = traceback.tb_next
        assert traceback is not None, "the error must have passed through the function"
        return traceback.tb_frame, self.marks[traceback.tb_lineno - 1]


class Source:
    """The text of a function under construction.

    Args:
        title: what it does, for error messages and tracebacks.
        signature: its name and parameters.
        namespace: names that its text uses besides builtins.
        write_run: makes the lines that read or write a run of parts.
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
        """Add a value of fixed size. It shares a line with its neighbours, so it may not depend on them."""
        self._run.append(Part(self._path, code, expression))

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Add a line that opens a block, and what follows inside it."""
        self.line(opening)
        self._indent += 1
        yield
        self._end_run()
        self._indent -= 1

    @contextmanager
    def serving(self, name: str) -> Iterator[None]:
        """Mark what follows as serving the field `name` of the struct at hand."""
        outer = self._path
        self._path = f"{outer}.{name}" if outer else name
        yield
        self._path = outer

    def local(self, hint: str) -> str:
        """A variable that nothing else uses."""
        self._locals += 1
        return f"{hint}_{self._locals}"

    def constant(self, hint: str, value: object) -> str:
        """A name by which the text may use `value`; plain values stand for themselves."""
        if value is None or isinstance(value, (bool, int, str, bytes)) or value == ():
            return repr(value)
        name = hint
        while self._namespace.setdefault(name, value) is not value:
            name += "_"
        return name

    def compile(self) -> Compiled:
        """Make the function."""
        self._end_run()
        file_name, lines = f"<{self._title}>", [f"{line}\n" for line in self._lines]
        # The text is made of declarations in this repository alone; nothing that came over a network is in it.
        exec(compile("".join(lines), file_name, "exec"), self._namespace)  # noqa: S102
        # Tracebacks and debuggers look here for the lines of a file that is on no disk.
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
