"""Plans."""
from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from typing import Any, Optional

from ._library import WARNING, LogFn, PlanOptions, ProgressFn, check, lib, make, path_bytes
from ._tensors import Info, infos

Progress = Callable[[str, int, int], Any]
"""Called with what is done, how much of it is done, and how much there is: ("plan", 1, 3)."""

_log = logging.getLogger("adaps")


def _tell(_user: Any, level: int, message: bytes) -> None:
    _log.log(logging.WARNING if level == WARNING else logging.INFO, "%s", message.decode("utf-8", "replace"))


LOG = LogFn(_tell)


def progress_callback(progress: Optional[Progress]) -> Any:
    """For ctypes; must live as long as it can be called."""
    if progress is None:
        return ProgressFn()
    return ProgressFn(lambda _user, what, done, total: progress(what.decode(), done, total) and None)


class Plan:
    """A model compiled for devices. `adaps.plan` and `Plan.load` make one; it never changes, and any threads may use
    it."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self.handle = handle
        self.inputs: tuple[Info, ...] = infos(handle, "input")
        """What the network takes, in its order."""
        self.outputs: tuple[Info, ...] = infos(handle, "output")
        """What the network answers, in its order."""

    @classmethod
    def load(cls, path: str | os.PathLike) -> Plan:
        """Reads a plan file (adaps-plan(5))."""
        return cls(make("adaps_plan_load", path_bytes(path)))

    def save(self, path: str | os.PathLike) -> None:
        """Writes a plan file; one that is there is replaced at once."""
        check("adaps_plan_save", self.handle, path_bytes(path))

    @property
    def predicted(self) -> float:
        """Predicted latency of one inference in seconds."""
        return lib.adaps_plan_predicted_ns(self.handle) * 1e-9

    def __del__(self, free: Any = lib.adaps_plan_free) -> None:
        if hasattr(self, "handle"):
            free(self.handle)


def plan(model: str | os.PathLike | bytes, devices: str | os.PathLike | None = None, *, strategy: str | None = None,
         bandwidth: float | None = None, latency: float | None = None, threshold: float | None = None,
         gather_type3: bool = False, conv_direct: bool = False, spares: bool = False,
         progress: Optional[Progress] = None) -> Plan:
    """Compiles an ONNX model, a file or the bytes of one, for the devices of a devices file or, without one, for this
    machine alone.

    strategy: "auto" (the default), "single", "edgeflow", ... (adaps-plan(1)). bandwidth (bytes per second) and latency
    (seconds) are those of every link, instead of the devices file's. threshold: the search window, 0 to 1.
    gather_type3: edgeflow, bbgrap and adaps put layers that mix dimensions on one device. conv_direct: no convolution
    by Winograd's algorithm. spares: with a plan for the loss of each agent, for sessions with failover.

    Raises Infeasible, UsageError or InputError."""
    report = progress_callback(progress)
    data = model if isinstance(model, bytes) else None
    options = PlanOptions(model=None if data else path_bytes(model), model_data=data,
                          model_size=len(data or b""), devices=path_bytes(devices),
                          strategy=None if strategy is None else strategy.encode(), bandwidth=bandwidth or 0,
                          latency=latency or 0, has_latency=latency is not None, threshold=threshold or 0,
                          has_threshold=threshold is not None, gather_type3=gather_type3, conv_direct=conv_direct,
                          spares=spares, progress=report, log=LOG)
    return Plan(make("adaps_plan_compile", ctypes.byref(options)))
