"""Streams: several inferences in flight."""
from __future__ import annotations

import asyncio
import ctypes
import select
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._library import Closing, Error, StreamOptions, UsageError, check, lib, make
from ._tensors import give, take

if TYPE_CHECKING:
    from ._session import Session
    from ._tensors import Inputs, Outputs


class Stream(Closing):
    """A session's only stream. One thread may submit while another one takes results."""

    _kind = "stream"

    def __init__(self, session: Session, in_flight: int = 3) -> None:
        self._session = session  # must outlive the stream
        self._submitted = self._taken = 0
        options = StreamOptions(in_flight=in_flight)
        self._handle = make("adaps_stream_open", session.handle, ctypes.byref(options))

    @property
    def pending(self) -> int:
        """How many results have not been taken, answered or not."""
        return self._submitted - self._taken

    def submit(self, frame: Inputs, tag: int | None = None) -> int:
        """Begins an inference; waits while too many are in flight. The frame is copied. Returns its tag: the one given
        (0 to 2^64 - 1), or its number from 0. Raises UsageError or InputError."""
        tensors, count, kept = take(self._session.inputs, frame)
        tag = self._submitted if tag is None else tag
        check("adaps_stream_submit", self.handle, tensors, count, tag)
        del kept
        self._submitted += 1
        return tag

    def result(self, timeout: float | None = None) -> tuple[int, Outputs] | None:
        """The next tag and answer, in the order in which they were submitted; None: there is none, after so many
        seconds, or, without a timeout, because nothing is pending. Raises why an inference failed: an Error with
        attribute `tag`."""
        if timeout is None and self.pending == 0:
            return None
        # Not in the library, where signals would have to wait.
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        poll.poll(None if timeout is None else max(0, timeout * 1000))
        out = ctypes.c_void_p()
        if not check("adaps_stream_wait", self.handle, 0, ctypes.byref(out), no=True):
            return None
        self._taken += 1
        tag = lib.adaps_result_tag(out)
        try:
            check("adaps_result_status", out, no=False)
        except Error as error:
            error.tag = tag  # type: ignore[attr-defined]
            lib.adaps_result_free(out)
            raise
        return tag, give(out)

    def fileno(self) -> int:
        """A descriptor that is readable while a result waits."""
        return lib.adaps_stream_fd(self.handle)


async def _ready(iterable: Iterable[Any]) -> AsyncIterator[Any]:
    for one in iterable:
        yield one


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: future.done() or future.set_result(None))
    try:
        await future
    finally:
        loop.remove_reader(descriptor)


class Answers:
    """What Session.stream returns: numbers and answers, for `for` and `async for`."""

    def __init__(self, session: Session, frames: Iterable[Inputs] | AsyncIterable[Inputs], in_flight: int) -> None:
        self._session, self._frames, self._in_flight = session, frames, in_flight

    def __iter__(self) -> Iterator[tuple[int, Outputs]]:
        if not isinstance(self._frames, Iterable):
            raise UsageError("an asynchronous iterable of frames wants `async for`")
        with Stream(self._session, self._in_flight) as stream:
            for frame in self._frames:
                if stream.pending == self._in_flight:
                    yield stream.result()  # type: ignore[misc]
                stream.submit(frame)
            while stream.pending > 0:
                yield stream.result()  # type: ignore[misc]

    async def __aiter__(self) -> AsyncIterator[tuple[int, Outputs]]:
        frames = self._frames if isinstance(self._frames, AsyncIterable) else _ready(self._frames)
        source = frames.__aiter__()
        arriving: asyncio.Future[Any] | None = None  # the next frame
        answered: asyncio.Future[None] | None = None
        ended = False
        with Stream(self._session, self._in_flight) as stream:
            try:
                while not ended or stream.pending > 0:
                    if arriving is None and not ended and stream.pending < self._in_flight:
                        arriving = asyncio.ensure_future(anext(source))
                    if answered is None and stream.pending > 0:
                        answered = asyncio.ensure_future(_readable(stream.fileno()))
                    await asyncio.wait([one for one in (arriving, answered) if one is not None],
                                       return_when=asyncio.FIRST_COMPLETED)
                    if arriving is not None and arriving.done():
                        try:
                            stream.submit(arriving.result())
                        except StopAsyncIteration:
                            ended = True
                        arriving = None
                    if answered is not None and answered.done():
                        answered = None
                        yield stream.result(0)  # type: ignore[misc]
            finally:
                waiting = [one for one in (arriving, answered) if one is not None]
                for one in waiting:
                    one.cancel()
                if waiting:
                    await asyncio.wait(waiting)
