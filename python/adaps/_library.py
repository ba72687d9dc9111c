"""libadaps by ctypes: adaps.h, declared once, and its errors as exceptions."""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t,
                    c_uint64, c_void_p)
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

LIBRARY = "libadaps.so.0"


class Error(Exception):
    """Something went wrong in adaps; the message names file, node, device, the values and the rule."""


class Infeasible(Error):
    """The answer is no: there is no feasible plan."""


class UsageError(Error, ValueError):
    """The call itself is wrong."""


class InputError(Error, ValueError):
    """A bad input: model, plan, devices file or array."""


class AgentError(Error, ConnectionError):
    """An agent or the network failed."""


class InternalError(Error, RuntimeError):
    """A defect of adaps, or no memory."""


class Cancelled(Error):
    """`Session.cancel` ended it."""


OK, NO = 0, 1
EXCEPTIONS = {NO: Infeasible, 2: UsageError, 3: InputError, 4: AgentError, 5: InternalError, 6: Cancelled}
MAX_RANK = 8
INFO, WARNING = 1, 2  # enum adaps_log_level


class _Error(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024)]


class _Sized(Structure):
    """A struct that begins with its own size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


class TensorInfo(_Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_int), ("rank", c_int),
                ("dims", c_int64 * MAX_RANK), ("open", c_bool)]


class Tensor(_Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_int), ("rank", c_int),
                ("dims", c_int64 * MAX_RANK), ("data", c_void_p), ("bytes", c_size_t)]


ProgressFn = CFUNCTYPE(None, c_void_p, c_char_p, c_uint64, c_uint64)
LogFn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)

_CALLBACKS = [("progress", ProgressFn), ("progress_user", c_void_p), ("log", LogFn), ("log_user", c_void_p)]


class PlanOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("model", c_char_p), ("model_data", c_char_p), ("model_size", c_size_t),
                ("devices", c_char_p), ("strategy", c_char_p), ("bandwidth", c_double), ("latency", c_double), ("has_latency", c_bool), ("threshold", c_double),
                ("has_threshold", c_bool), ("gather_type3", c_bool), ("conv_direct", c_bool), ("spares", c_bool),
                *_CALLBACKS]


class AdaptationStruct(_Sized):
    _fields_ = [("struct_size", c_size_t), ("device", c_char_p), ("to", c_char_p), ("factor", c_double),
                ("before", c_double), ("inference", c_int64), ("taken", c_bool), ("old_ns", c_int64),
                ("new_ns", c_int64), ("left", c_int64), ("cost_ns", c_int64), ("plan_ns", c_int64),
                ("push_ns", c_int64), ("open_ns", c_int64), ("push_bytes", c_uint64)]


AdaptationFn = CFUNCTYPE(None, c_void_p, POINTER(AdaptationStruct))


class SessionOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("model", c_char_p), ("local", c_bool), ("failover", c_bool),
                ("threads", c_int), ("deadline", c_double), ("key_file", c_char_p), ("devices", c_char_p),
                ("strategy", c_char_p), *_CALLBACKS,
                ("adapt", c_bool), ("horizon", c_int64), ("adaptation", AdaptationFn),
                ("adaptation_user", c_void_p), ("wait", c_double)]


class StreamOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("in_flight", c_int), ("refuse", c_bool), ("callback", c_void_p),
                ("callback_user", c_void_p)]


_ERR = POINTER(_Error)
_OUT = POINTER(c_void_p)

# Functions that return a status, without their last argument, the error.
_CHECKED = {
    "adaps_plan_compile": [POINTER(PlanOptions), _OUT],
    "adaps_plan_load": [c_char_p, _OUT],
    "adaps_plan_save": [c_void_p, c_char_p],
    "adaps_plan_input": [c_void_p, c_int, POINTER(TensorInfo)],
    "adaps_plan_output": [c_void_p, c_int, POINTER(TensorInfo)],
    "adaps_session_open": [c_void_p, POINTER(SessionOptions), _OUT],
    "adaps_session_open_file": [c_char_p, POINTER(SessionOptions), _OUT],
    "adaps_session_infer": [c_void_p, POINTER(Tensor), c_int, _OUT],
    "adaps_result_status": [c_void_p],
    "adaps_result_output": [c_void_p, c_int, POINTER(Tensor)],
    "adaps_stream_open": [c_void_p, POINTER(StreamOptions), _OUT],
    "adaps_stream_submit": [c_void_p, POINTER(Tensor), c_int, c_uint64],
    "adaps_stream_wait": [c_void_p, c_double, _OUT],
}

# All others: what they return, and their arguments.
_PLAIN = {
    "adaps_version": (c_char_p, []),
    "adaps_plan_free": (None, [c_void_p]),
    "adaps_plan_inputs": (c_int, [c_void_p]),
    "adaps_plan_outputs": (c_int, [c_void_p]),
    "adaps_plan_predicted_ns": (c_int64, [c_void_p]),
    "adaps_session_plan": (c_void_p, [c_void_p]),
    "adaps_session_close": (None, [c_void_p]),
    "adaps_session_cancel": (None, [c_void_p]),
    "adaps_session_recoveries": (c_int, [c_void_p]),
    "adaps_result_outputs": (c_int, [c_void_p]),
    "adaps_result_tag": (c_uint64, [c_void_p]),
    "adaps_result_latency_ns": (c_int64, [c_void_p]),
    "adaps_result_free": (None, [c_void_p]),
    "adaps_stream_fd": (c_int, [c_void_p]),
    "adaps_stream_close": (None, [c_void_p]),
}


def _open() -> ctypes.CDLL:
    name = os.environ.get("ADAPS_LIBRARY", LIBRARY)
    try:
        library = ctypes.CDLL(name)
        for function, arguments in _CHECKED.items():
            getattr(library, function).restype = c_int
            getattr(library, function).argtypes = [*arguments, _ERR]
        for function, (result, arguments) in _PLAIN.items():
            getattr(library, function).restype = result
            getattr(library, function).argtypes = arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"the library {name} cannot be used: {error} (Debian: libadaps0; ADAPS_LIBRARY names another "
                          "file)") from error
    return library


lib = _open()


def check(function: str, *arguments: Any, no: bool = False) -> bool:
    """Calls one of the functions that return a status. True: done; False: ADAPS_NO, if `no` allows for it."""
    err = _Error()
    status = getattr(lib, function)(*arguments, byref(err))
    if status == OK:
        return True
    if status == NO and no:
        return False
    raise EXCEPTIONS.get(status, InternalError)(err.message.decode("utf-8", "replace"))


def make(function: str, *arguments: Any) -> c_void_p:
    """Calls one of them whose last argument is a place for what it makes."""
    out = c_void_p()
    check(function, *arguments, byref(out))
    return out


def path_bytes(path: str | os.PathLike | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


class Closing:
    """What the library has opened, and closes: also at the end of a `with`, or when nothing refers to it any more."""

    _kind: str  # adaps_KIND_close()
    _handle: c_void_p | None = None

    @property
    def handle(self) -> c_void_p:
        """Of libadaps."""
        if self._handle is None:
            raise UsageError(f"the {self._kind} is closed")
        return self._handle

    def close(self) -> None:
        """Ends what is in flight. No other thread may use it any more."""
        if self._handle is not None:
            getattr(lib, f"adaps_{self._kind}_close")(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle is not None:
            self.close()
