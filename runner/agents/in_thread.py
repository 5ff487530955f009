"""Running something async from anywhere, also from within an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def in_thread(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run what `make` gives in an event loop of its own, and wait for it.

    So that there is one way in which it is done, and no other has to be kept like it.
    """
    done: Future[T] = Future()

    async def work() -> None:
        try:
            done.set_result(await make())
        except BaseException as error:
            done.set_exception(error)

    # A daemon: an interrupted program does not wait for it, nor does anybody for a loop that
    # ends slowly, as it does where a name is still being looked up.
    run = partial(asyncio.run, work())
    Thread(target=run, name="flowcompose-http", daemon=True).start()
    return done.result()
