"""numpy arrays as libadaps' tensors, without copies where that is possible."""
from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._library import MAX_RANK, InputError, Tensor, TensorInfo, UsageError, check, lib

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Inputs = Union[ArrayLike, Mapping[str, ArrayLike], Sequence[ArrayLike]]
    Outputs = Union[NDArray[Any], dict[str, NDArray[Any]]]

# enum adaps_type
DTYPES = {1: np.dtype(np.float32), 2: np.dtype(np.uint8), 3: np.dtype(np.int8), 6: np.dtype(np.int32),
          7: np.dtype(np.int64), 9: np.dtype(np.bool_)}
TYPES = {dtype: number for number, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Info:
    """An input or output of a network."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    open: bool
    """The first dimension is the most there can be: only the answer says how many."""


def infos(plan: ctypes.c_void_p, what: str) -> tuple[Info, ...]:
    """what: input or output."""
    found = []
    for i in range(getattr(lib, f"adaps_plan_{what}s")(plan)):
        info = TensorInfo()
        check(f"adaps_plan_{what}", plan, i, ctypes.byref(info))
        found.append(Info(info.name.decode(), DTYPES[info.type], tuple(info.dims[:info.rank]), info.open))
    return tuple(found)


def _exact(array: np.ndarray, info: Info) -> np.ndarray:
    """An array of a type that the library does not know, as the network's, with the very same values."""
    if array.dtype.kind not in "biuf":
        raise InputError(f"input '{info.name}': {array.dtype} is no type of real numbers")
    with np.errstate(all="ignore"):
        converted = array.astype(info.dtype)
        same = np.array_equal(converted.astype(array.dtype), array, equal_nan=array.dtype.kind == "f")
    if not same:
        raise InputError(f"input '{info.name}': not all values of {array.dtype} are values of {info.dtype}, which the "
                         f"network takes; astype() rounds them")
    return converted


def _tensor(value: ArrayLike, info: Info, name: bytes | None, kept: list[np.ndarray]) -> Tensor:
    """The arrays in `kept` must live as long as the tensor is used."""
    array = np.asarray(value)
    if array.dtype not in TYPES:
        array = _exact(array, info)
    array = np.asarray(array, order="C")
    if array.ndim > MAX_RANK:
        raise InputError(f"input '{info.name}' has {array.ndim} dimensions: at most {MAX_RANK} are possible")
    kept.append(array)
    return Tensor(name=name, type=TYPES[array.dtype], rank=array.ndim, dims=array.shape, data=array.ctypes.data,
                  bytes=array.nbytes)


def take(inputs: tuple[Info, ...], given: Inputs) -> tuple[Any, int, list[np.ndarray]]:
    """An array for the network's only input, a tuple or list of them by place, or a mapping by name."""
    kept: list[np.ndarray] = []
    if isinstance(given, Mapping):
        by_name = {info.name: info for info in inputs}
        for name in given:
            if name not in by_name:
                raise UsageError(f"the network has no input '{name}', but {', '.join(by_name)}")
        tensors = [_tensor(value, by_name[name], name.encode(), kept) for name, value in given.items()]
    else:
        values = given if isinstance(given, (tuple, list)) and len(inputs) != 1 else [given]
        if len(values) != len(inputs):
            raise UsageError(f"{len(values)} inputs: the network has {len(inputs)}")
        tensors = [_tensor(value, info, None, kept) for value, info in zip(values, inputs)]
    return (Tensor * len(tensors))(*tensors), len(tensors), kept


class _Owner:
    """Frees a result when the last of its arrays is gone."""

    def __init__(self, result: ctypes.c_void_p) -> None:
        self.result = result

    def __del__(self, free: Any = lib.adaps_result_free) -> None:
        free(self.result)


def _arrays(result: ctypes.c_void_p) -> Iterator[tuple[str, np.ndarray]]:
    owner = _Owner(result)
    for i in range(lib.adaps_result_outputs(result)):
        tensor = Tensor()
        check("adaps_result_output", result, i, ctypes.byref(tensor))
        shape = tuple(tensor.dims[:tensor.rank])
        dtype = DTYPES[tensor.type]
        if tensor.bytes == 0:
            yield tensor.name.decode(), np.empty(shape, dtype)
            continue
        memory = (ctypes.c_char * tensor.bytes).from_address(tensor.data)
        memory.owner = owner  # which lives as long as an array has the memory
        yield tensor.name.decode(), np.frombuffer(memory, dtype).reshape(shape)


def give(result: ctypes.c_void_p) -> Outputs:
    """Takes over the result. Of a network with one output its array; of others all of them, by name."""
    outputs = dict(_arrays(result))
    return outputs if len(outputs) != 1 else next(iter(outputs.values()))
