"""Waiting for a file that another process writes to, such that signals are heard meanwhile."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds to wait while another process writes."""

BRIEFLY = 2.0
"""The same for what is only noted, where somebody waits for the end of the command."""

AT_ONCE = 0.1
"""Seconds that SQLite itself waits: it sleeps where no signal is heard."""

_PAUSE = 0.05


def patiently(act: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Try again while the file is locked: also where SQLite does not wait, as when it is made."""
    end = time.monotonic() + seconds
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
