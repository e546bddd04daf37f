"""Answers that come from other threads: a group of them wakes the event loop once."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary


class Post:
    """Brings answers into an event loop.

    Parameters
    ----------
    loop : event loop
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._letters: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._asleep = True

    def awaited(self, future: Future[Any]) -> asyncio.Future[Any]:
        """Return a future of the loop that ends as the other does."""
        mine = self._loop.create_future()
        future.add_done_callback(lambda done: self._send(mine, done))
        return mine

    def _send(self, mine: asyncio.Future[Any], done: Future[Any]) -> None:
        self._letters.append((mine, done))
        if self._asleep:  # put in before it is looked at: else one could stay behind
            self._asleep = False
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except BaseException:  # the next letter tries again
                self._asleep = True
                raise

    def _deliver(self) -> None:
        self._asleep = True
        while self._letters:
            mine, done = self._letters.popleft()
            if mine.done():  # whoever asked has left
                continue
            error = done.exception()
            if error is None:
                mine.set_result(done.result())
            else:
                mine.set_exception(error)


_posts: WeakKeyDictionary[asyncio.AbstractEventLoop, Post] = WeakKeyDictionary()


def awaited(future: Future[Any]) -> asyncio.Future[Any]:
    """Return a future of the running loop that ends as the other does.

    Examples
    --------
    >>> async def main():
    ...     future = Future()
    ...     threading.Timer(0.01, future.set_result, ["done"]).start()
    ...     return await awaited(future)
    >>> import threading
    >>> asyncio.run(main())
    'done'
    """
    loop = asyncio.get_running_loop()
    post = _posts.get(loop)
    if post is None:
        post = _posts[loop] = Post(loop)
    return post.awaited(future)
