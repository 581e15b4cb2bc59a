"""Queue policies in Python: functions that become programs of the eBPF machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Aqm", "DROP", "MARK", "PASS", "Packet", "aqm"]

#: What a policy returns. A packet that cannot be marked is dropped.
PASS, MARK, DROP = range(3)

#: The number of words of a queue's state.
STATE = 16


class Packet(NamedTuple):
    """A packet that arrives, and its queue. All values are whole numbers."""

    #: Nanoseconds since the first packet.
    now_ns: int
    #: Bytes in the queue, without this packet.
    queue_bytes: int
    #: The capacity of the queue.
    capacity_bytes: int
    #: The rate at which it drains.
    rate_bps: int
    #: Bytes of this packet on the wire.
    length: int
    #: 1 if the packet can be marked.
    ect: int
    #: How long the queue has been empty; 0 while it is not.
    idle_ns: int


class Aqm:
    """A queue policy that was written in Python. In a scenario it is a queue: ``sl.Scheme(queue=policy)``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self._object: bytes | None = None
        self._folder: Any = None

    def __call__(self, packet: Packet, state: Any) -> int:
        verdict: int = self.function(packet, state)
        return verdict

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def object(self) -> bytes:
        """The object file."""
        if self._object is None:
            self._object = _object_of(self.function)
        return self._object

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the object file, which ``slotline bump`` and scenarios of the command line can name."""
        Path(path).write_bytes(self.object())
        return Path(path)

    def to_dict(self) -> dict[str, Any]:
        """The table ``queue`` of a scenario, with an object file in a temporary folder."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="slotline-")
        path = Path(self._folder.name, f"{self.name}.o")
        return {"kind": "object", "file": str(self.save(path))}

    def __repr__(self) -> str:
        return f"<Aqm {self.name!r}>"


def aqm(function: Callable[..., Any]) -> Aqm:
    """Makes a function a queue policy. It is called for each packet that arrives, in the eBPF machine.

    The function gets a :class:`Packet` and ``state``, 16 whole numbers of the queue that are zero at first, and returns
    ``PASS``, ``MARK`` or ``DROP``. It computes with whole numbers only, and cannot allocate or raise. numba compiles it.

    >>> import slotline as sl
    >>> @sl.aqm
    ... def threshold(packet, state):
    ...     return sl.MARK if packet.queue_bytes > 30000 and packet.ect else sl.PASS
    >>> threshold
    <Aqm 'threshold'>
    """
    return Aqm(function)


_WRAPPER = """
define i32 @slotline(ptr %b) section "slotline_bump" {{
{loads}
  %state = getelementptr i8, ptr %b, i64 72
  %result = alloca i64
  store i64 0, ptr %result
  %status = call i32 @{name}(ptr %result, ptr null, {fields}, ptr null, ptr null, i64 16, i64 8, ptr %state, i64 16, i64 8)
  %failed = icmp ne i32 %status, 0
  %value = load i64, ptr %result
  %verdict = trunc i64 %value to i32
  %chosen = select i1 %failed, i32 0, i32 %verdict
  ret i32 %chosen
}}
"""
#: The fields of `struct slotline_bump` in the order of :class:`Packet`: place and size.
_FIELDS = ((0, 64), (8, 64), (16, 64), (24, 64), (32, 32), (36, 32), (40, 64))


def _object_of(function: Callable[..., Any]) -> bytes:
    """Compiles a policy to an object file for BPF."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("bpfel").create_target_machine(cpu="v4", opt=2)
    text, name = _numba_code(function)
    module = llvm.parse_assembly(_for_bpf(text, name, machine))
    for other in module.functions:
        if not other.is_declaration and other.name != "slotline":
            other.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, options)
    for _ in range(2):
        passes.getModulePassManager().run(module, passes)
    needed = [other.name for other in module.functions if other.name != "slotline" and not other.name.startswith("llvm.")]
    if needed:
        raise TypeError(f"{function.__name__}: a queue policy cannot allocate, print, raise or call {', '.join(needed)}")
    if "double" in str(module):
        raise TypeError(f"{function.__name__}: a queue policy computes with whole numbers: use // in place of /")
    code: bytes = machine.emit_object(module)
    return code


def _numba_code(function: Callable[..., Any]) -> tuple[str, str]:
    """The code that numba makes for the function, and the name of the function in it."""
    import numba
    from numba import types

    whole = types.int64
    packet = types.NamedUniTuple(whole, len(Packet._fields), Packet)
    state = types.Array(whole, 1, "C")
    compiled = numba.njit(error_model="numpy", no_cpython_wrapper=True)(function)
    compiled.compile((packet, state))
    result = compiled.overloads[(packet, state)]
    returned = result.signature.return_type
    if not isinstance(returned, types.Integer | types.Boolean):
        raise TypeError(f"{function.__name__} returns {returned}: a queue policy returns PASS, MARK or DROP")
    if returned != whole:
        widened = numba.njit(error_model="numpy")(function)
        return _numba_code(_widened(widened, function.__name__))
    return result.library.get_llvm_str(), result.fndesc.llvm_func_name


def _widened(function: Any, name: str) -> Callable[..., Any]:
    """The same function, with a whole number of 64 bits as result."""
    from numba import int64

    def widened(packet: Any, state: Any) -> Any:
        return int64(function(packet, state))

    widened.__name__ = name
    return widened


def _for_bpf(text: str, name: str, machine: Any) -> str:
    """The code of numba with an entry for the eBPF machine, and without what belongs to this processor."""
    drop = ("target triple", "target datalayout", "attributes #", "source_filename")
    lines = [line for line in text.splitlines() if not line.startswith(drop)]
    loads = []
    for at, (place, bits) in enumerate(_FIELDS):
        loads.append(f"  %p{at} = getelementptr i8, ptr %b, i64 {place}")
        loads.append(f"  %{'v' if bits == 64 else 'n'}{at} = load i{bits}, ptr %p{at}")
        if bits < 64:
            loads.append(f"  %v{at} = zext i{bits} %n{at} to i64")
    fields = ", ".join(f"i64 %v{at}" for at in range(len(_FIELDS)))
    quoted = f'"{name}"'
    head = f'target triple = "bpfel"\ntarget datalayout = "{machine.target_data}"\n'
    return head + _without_attributes("\n".join(lines)) + _WRAPPER.format(loads="\n".join(loads), name=quoted, fields=fields)


def _without_attributes(text: str) -> str:
    import re

    return re.sub(r" #\d+", "", text)
