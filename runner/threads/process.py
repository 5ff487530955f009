"""Whether the process that works on a run is still there."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process, told from a later one that has its number."""

    host: str
    pid: int
    began: str
    """When it began, as the system counts; empty where it does not say."""

    @classmethod
    def this(cls) -> Process:
        """Give the process that asks."""
        return cls(socket.gethostname(), os.getpid(), _began(os.getpid()))

    def is_this(self) -> bool:
        """Say whether it is the process that asks."""
        return self == Process.this()

    def is_alive(self) -> bool:
        """Say whether it is known to run: of another machine's processes nothing is known."""
        if sys.platform == "win32" or self.host != socket.gethostname():
            return False  # there, signal 0 is Ctrl-C
        try:
            with suppress(PermissionError):  # it is another user's
                os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return _began(self.pid) == self.began


def _began(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return "" if state == "Z" else rest[18]
