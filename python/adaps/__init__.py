"""adaps: one convolutional network, several small computers, the same bits.

    import adaps

    with adaps.Session("net.onnx") as session:          # in this process
        y = session.run(x)                              # numpy arrays in and out

    with adaps.Session("net.onnx", devices="cluster.conf") as session:    # on its agents
        for number, y in session.stream(frames):        # several in flight
            ...
        async for number, y in session.stream(frames):
            ...

    plan = adaps.plan("net.onnx", "cluster.conf")       # what Session does first
    plan.save("net.plan")

It is a thin layer on libadaps (adaps.h)."""
from ._library import (AgentError, Cancelled, Error, Infeasible, InputError, InternalError, UsageError, lib as _lib)
from ._plan import Plan, plan
from ._session import Adaptation, Session
from ._stream import Answers, Stream
from ._tensors import Info

__version__: str = _lib.adaps_version().decode()

__all__ = ["Adaptation", "AgentError", "Answers", "Cancelled", "Error", "Infeasible", "Info", "InputError",
           "InternalError", "Plan", "Session", "Stream", "UsageError", "plan"]
