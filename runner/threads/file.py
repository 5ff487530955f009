"""Opening the file that keeps runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from flowcompose.runner.follow import left_behind
from flowcompose.runner.threads.patience import AT_ONCE, PATIENCE, patiently
from flowcompose.runner.unusable import UnusableError

if TYPE_CHECKING:
    from flowcompose.runner.threads.saver import Saver

T = TypeVar("T")

_PREFIX = "sqlite:"

MISSING = "--checkpoint sqlite:FILE needs a package: pip install 'flowcompose[sqlite]'"


@dataclass(frozen=True)
class RunFile:
    """A file of SQLite, as `--checkpoint` names it."""

    path: Path

    @classmethod
    def named(cls, option: str, *, must_exist: bool = False) -> RunFile:
        """Read the option.

        Raises:
            UnusableError: It names no file that can be used.
        """
        name = option.removeprefix(_PREFIX)
        if name == option or not name or name == ":memory:":
            raise UnusableError(f"--checkpoint must be sqlite:FILE, got {option!r}")
        path = Path(name).expanduser().absolute()
        _check(path, must_exist=must_exist)
        return cls(path)

    @property
    def option(self) -> str:
        """How to name it again."""
        return f"{_PREFIX}{self.path}"

    @contextmanager
    def saver(self) -> Generator[Saver]:
        """Open it for the engine.

        Raises:
            UnusableError: It cannot be written, or the package is missing.
        """
        try:
            from flowcompose.runner.threads.saver import Saver
        except ModuleNotFoundError:
            raise UnusableError(MISSING) from None
        connection = self._reading(lambda: self._connect(check_same_thread=False))
        try:
            saver = Saver(connection)
            self._reading(lambda: patiently(saver.setup))
            self._reading(lambda: patiently(lambda: _check_tables(connection)))
            yield saver
        finally:
            if not left_behind():  # a run that was left still writes, until the process ends
                connection.close()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Ask.

        Raises:
            UnusableError: The file does not allow it.
        """
        return self._executed(query, values, sqlite3.Cursor.fetchall)

    def write(
        self, statement: str, values: Sequence[Any] = (), *, seconds: float = PATIENCE
    ) -> int:
        """Write, so that it is there for others at once; gives how many rows it changed.

        Args:
            statement: What to do.
            values: What it is done with.
            seconds: How long to wait for another process that writes.

        Raises:
            UnusableError: The file does not allow it.
        """
        return self._executed(statement, values, lambda cursor: cursor.rowcount, seconds)

    def tables(self) -> set[str]:
        """Name what is in it.

        Raises:
            UnusableError: It is no file of SQLite.
        """
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        return {str(name) for (name,) in self.rows(query)}

    def _connect(self, *, check_same_thread: bool = True) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=AT_ONCE, check_same_thread=check_same_thread)

    def _executed(
        self,
        statement: str,
        values: Sequence[Any],
        read: Callable[[sqlite3.Cursor], T],
        seconds: float = PATIENCE,
    ) -> T:
        def act() -> T:
            with closing(self._connect()) as connection, connection:
                return read(connection.execute(statement, values))

        return self._reading(lambda: patiently(act, seconds))

    def _reading(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except sqlite3.Error as error:
            raise UnusableError(f"--checkpoint {self.option}: {error}") from error


def _check(path: Path, *, must_exist: bool) -> None:
    if path.is_dir():
        raise UnusableError(f"--checkpoint: {str(path)!r} is a folder; name a file in it")
    if must_exist and not path.exists():
        raise UnusableError(f"--checkpoint: no such file: {str(path)!r}")
    if not path.parent.is_dir():
        raise UnusableError(f"--checkpoint: no such folder: {str(path.parent)!r}; make it first")


_TABLES = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,"
    " metadata FROM checkpoints LIMIT 0",
    "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value"
    " FROM writes LIMIT 0",
)
"""What the engine asks for; tables of these names may be another program's."""


def _check_tables(connection: sqlite3.Connection) -> None:
    for query in _TABLES:
        connection.execute(query)
