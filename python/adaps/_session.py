"""Sessions: one inference at a time."""
from __future__ import annotations

import concurrent.futures
import ctypes
import os
import threading
from collections.abc import AsyncIterable, Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from ._library import AdaptationFn, Closing, SessionOptions, lib, make, path_bytes
from ._plan import LOG, Plan, Progress, progress_callback
from ._stream import Answers, Stream
from ._tensors import Info, give, infos, take

if TYPE_CHECKING:
    from ._tensors import Inputs, Outputs


class Adaptation(NamedTuple):
    """What became of a device, or of the link from `device` to `to`, that has drifted. Times are seconds."""

    device: str
    to: str | None
    factor: float
    """Its speed, as a factor of what the plan in use says."""
    before: float
    """What that had been."""
    inference: int
    """Answers of the session when it was found."""
    taken: bool
    """The session goes on with another plan; else that would not gain enough, or the agents did not take it."""
    old: float
    """An inference by the plan in use, predicted for what devices and links are now."""
    new: float
    """The same by the other plan."""
    left: int
    """Inferences in which the other one had to pay off."""
    cost: float
    """Predicted: pushing, opening, and the pause."""
    plan: float
    """What planning took, while the session went on."""
    push: float
    """What pushing took, if it was taken."""
    open: float
    """Likewise, opening."""
    push_bytes: int


def _adaptation_callback(tell: Optional[Callable[[Adaptation], Any]]) -> Any:
    """For ctypes; must live as long as the session."""
    if tell is None:
        return AdaptationFn()

    def call(_user: Any, at: Any) -> None:
        one = at.contents
        tell(Adaptation(one.device.decode(), one.to.decode() if one.to else None, one.factor, one.before,
                        one.inference, one.taken, one.old_ns * 1e-9, one.new_ns * 1e-9, one.left, one.cost_ns * 1e-9,
                        one.plan_ns * 1e-9, one.push_ns * 1e-9, one.open_ns * 1e-9, one.push_bytes))

    return AdaptationFn(call)


class Session(Closing):
    """A place where a plan runs: the agents of its devices, or this process.

    source: a Plan, the file of one (adaps-plan(5)), or an ONNX model, which is compiled: for the devices file
    `devices` and by `strategy`, or else for this process. `devices` of a plan's file has other addresses for its
    devices. model: file of the weights, if it is not where the plan says. local: in this process, on one device,
    without agents. failover: goes on when an agent is lost. threads: of a local session; 0: as many as the plan's
    device has. deadline: seconds, bounds every wait for agents. key_file: this side's keys (adaps-keygen(1)).
    progress: called while it is planned and weights are pushed. adapt: goes on with another plan when devices or links
    become slower or faster than planned, if that gains more than it costs within so many inferences (horizon; 0:
    10,000); True, or a function that is told each Adaptation. wait: seconds that an agent which serves another
    controller is waited for, in line.

        with adaps.Session("net.onnx") as session:
            y = session.run(x)

    Any thread may use it; one inference is done at a time, others wait. What adaps has to tell goes to the logger
    "adaps" of Python's logging. Raises Infeasible, UsageError, InputError or AgentError."""

    _kind = "session"

    def __init__(self, source: Plan | str | os.PathLike, *, devices: str | os.PathLike | None = None,
                 strategy: str | None = None, model: str | os.PathLike | None = None, local: bool = False,
                 failover: bool = False, threads: int = 0, deadline: float = 30,
                 key_file: str | os.PathLike | None = None, progress: Optional[Progress] = None,
                 adapt: bool | Callable[[Adaptation], Any] = False, horizon: int = 0,
                 wait: float = 0) -> None:
        self._helper: concurrent.futures.ThreadPoolExecutor | None = None
        self._progress = progress_callback(progress)
        self._adaptation = _adaptation_callback(adapt if callable(adapt) else None)
        options = SessionOptions(model=path_bytes(model), local=local, failover=failover, threads=threads,
                                 deadline=deadline, key_file=path_bytes(key_file), devices=path_bytes(devices),
                                 strategy=None if strategy is None else strategy.encode(), progress=self._progress,
                                 log=LOG, adapt=bool(adapt), horizon=horizon, adaptation=self._adaptation, wait=wait)
        if isinstance(source, Plan):
            self._plan = source  # must outlive the session
            self._handle = make("adaps_session_open", source.handle, ctypes.byref(options))
        else:
            self._handle = make("adaps_session_open_file", path_bytes(source), ctypes.byref(options))
        of = lib.adaps_session_plan(self._handle)
        self.inputs: tuple[Info, ...] = infos(of, "input")
        """What the network takes, in its order."""
        self.outputs: tuple[Info, ...] = infos(of, "output")
        """What the network answers, in its order."""
        self.predicted: float = lib.adaps_plan_predicted_ns(of) * 1e-9
        """Predicted latency of one inference in seconds."""

    def run(self, *inputs: Inputs) -> Outputs:
        """One inference. run(x), run(a, b) by place, or run({"a": a, "b": b}) by name.

        Arrays have the network's shapes (a first dimension of 1 may be missing), any type of real numbers whose values
        the network's type has, and are not copied when they are dense and of the network's type. A network with one
        output answers with its array, others with a dict of all outputs by name. The arrays are the answer's own
        memory, which lives as long as they do.

        Ctrl-C ends it, and the session can be used further. Raises UsageError, InputError, AgentError or Cancelled."""
        handle = self.handle
        tensors, count, kept = take(self.inputs, inputs[0] if len(inputs) == 1 else inputs)
        result = self._interruptibly(lambda: make("adaps_session_infer", handle, tensors, count))
        del kept
        return give(result)

    def stream(self, frames: Iterable[Inputs] | AsyncIterable[Inputs], in_flight: int = 3) -> Answers:
        """Several inferences in flight, from an iterable: `for number, y in session.stream(frames)`, or, also from an
        asynchronous one, `async for number, y in session.stream(frames)`. A frame is what `run` takes: an array, a
        tuple of them, or a dict. Numbers count frames from 0; answers come in this order. It takes at most in_flight
        (1 to 8) frames more than it has answered. `async for` takes frames of an ordinary iterable in the event loop's
        thread."""
        return Answers(self, frames, in_flight)

    def open_stream(self, in_flight: int = 3) -> Stream:
        """The same by hand."""
        return Stream(self, in_flight)

    def cancel(self) -> None:
        """Ends what is running and in flight with Cancelled, from any thread. The session can be used further."""
        lib.adaps_session_cancel(self.handle)

    @property
    def recoveries(self) -> int:
        """How often the session has gone on without an agent."""
        return lib.adaps_session_recoveries(self.handle)

    def close(self) -> None:
        """No thread may use the session any more."""
        if self._helper is not None:
            self._helper.shutdown()
            self._helper = None
        super().close()

    def _interruptibly(self, call: Callable[[], ctypes.c_void_p]) -> ctypes.c_void_p:
        """Signals reach Python in the main thread only, and not while it is in the library: so another thread calls."""
        if threading.current_thread() is not threading.main_thread():
            return call()
        if self._helper is None:
            self._helper = concurrent.futures.ThreadPoolExecutor(1, "adaps")
        future = self._helper.submit(call)
        try:
            return future.result()
        except KeyboardInterrupt:
            while not future.done():
                self.cancel()
                concurrent.futures.wait([future], 0.1)
            if future.exception() is None:
                lib.adaps_result_free(future.result())
            raise
