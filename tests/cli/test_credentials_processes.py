"""`kraft credentials` as processes: several at once, and on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from raft.security.credentials import Credentials
from tests.hang import HANG_S
from tests.processes.commands import KRAFT, ROOT, TIED_TO_PARENT, child_environment
from tests.processes.finished import Finished
from tests.processes.kraft import kraft

PASSWORD = "planted-secret"
WRITERS = 4


def add(file: Path, user: str) -> Finished:
    return kraft("credentials", "add", str(file), user, "--iterations", "4096", stdin=f"{PASSWORD}\n".encode())


def test_users_that_are_added_at_once_are_all_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    users = [f"user{number}" for number in range(WRITERS)]

    with ThreadPoolExecutor(WRITERS) as pool:
        for done in pool.map(lambda user: add(file, user), users):
            done.require_success()

    assert sorted(Credentials.parse(file.read_text()).by_user) == users


def test_closed_standard_input_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *KRAFT, "credentials", "add", str(tmp_path / "c.json"), "alice"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=child_environment(),
        timeout=HANG_S,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kraft: standard input is closed: expected the password there\n"


class Terminal:
    """A process with a terminal as its standard input.

    Args:
        command: the program and its arguments.
    """

    def __init__(self, command: list[str]) -> None:
        self._terminal, side_of_process = pty.openpty()
        self._process = subprocess.Popen(
            [*TIED_TO_PARENT, *command],
            stdin=side_of_process,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=child_environment(),
            start_new_session=True,
        )
        os.close(side_of_process)

    def answer(self, prompt: str, line: str) -> None:
        """Type a line after a prompt; what is typed earlier is dropped."""
        assert self._process.stderr is not None
        text = ""
        while not text.endswith(prompt):
            character = self._process.stderr.read(1).decode()
            assert character, f"it ended after {text!r}"
            text += character
        os.write(self._terminal, f"{line}\n".encode())

    def finish(self) -> tuple[Finished, str]:
        """Wait for the end; return what was printed, and what the terminal has shown."""
        output, errors = self._process.communicate(timeout=HANG_S)
        os.set_blocking(self._terminal, False)
        try:
            shown = os.read(self._terminal, 65_536).decode()
        except OSError:  # It has shown nothing, and the process has closed its side.
            shown = ""
        os.close(self._terminal)
        done = Finished(
            name="kraft", exit_code=self._process.returncode, output=output.decode(), errors=errors.decode()
        )
        return done, shown


@pytest.mark.rule("AUTH-12")
def test_password_is_asked_for_twice_on_a_terminal_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    terminal = Terminal([*KRAFT, "credentials", "add", str(file), "alice"])

    terminal.answer("Password: ", PASSWORD)
    terminal.answer("Repeat for confirmation: ", PASSWORD)
    done, shown = terminal.finish()

    assert done.exit_code == 0, done.errors
    assert done.output == "added user alice for SCRAM-SHA-256, SCRAM-SHA-512\n"
    assert PASSWORD not in shown + done.output + done.errors
    assert list(Credentials.parse(file.read_text()).by_user) == ["alice"]
