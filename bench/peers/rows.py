"""The rows of bench/rows_*.c as Python sees them: libct-rows.so by ctypes, operands as NumPy arrays
over the same memory."""

import ctypes
import json

import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}


class Library:
    def __init__(self, path):
        self.c = c = ctypes.CDLL(path)
        c.ct_rows_describe.restype = ctypes.c_char_p
        c.ct_rows_fault.restype = ctypes.c_char_p
        c.ct_rows_isa.restype = ctypes.c_char_p
        c.ct_rows_open.restype = ctypes.c_void_p
        c.ct_rows_time.restype = ctypes.c_double
        c.ct_rows_time.argtypes = [ctypes.c_void_p, ctypes.c_long]
        c.ct_rows_close.argtypes = [ctypes.c_void_p]
        c.ct_rows_tensor.argtypes = [ctypes.c_void_p, ctypes.c_int] + 4 * [ctypes.c_void_p]
        c.ct_rows_work.argtypes = 3 * [ctypes.c_void_p]

    def isa(self):
        return self.c.ct_rows_isa().decode()

    def rows(self):
        """All rows, as dicts with their index."""
        return [dict(json.loads(self.c.ct_rows_describe(i)), index=i)
                for i in range(self.c.ct_rows_count())]


class Row:
    """An opened row: `time(repeat)`, `operands`, `output()`. Close it."""

    def __init__(self, library, about):
        self.c, self.about = library.c, about
        self.handle = self.c.ct_rows_open(about["index"])
        if not self.handle:
            raise RuntimeError(self.c.ct_rows_fault().decode())
        self.operands = []
        while (operand := self._tensor(len(self.operands))) is not None:
            self.operands.append(operand)
        work = (ctypes.c_double * 2)()
        self.c.ct_rows_work(self.handle, ctypes.addressof(work), ctypes.addressof(work) + 8)
        self.bytes, self.flops = work[0], work[1]

    def _tensor(self, which):
        data, kind = ctypes.c_void_p(), ctypes.create_string_buffer(16)
        shape, strides = (ctypes.c_int64 * 8)(), (ctypes.c_int64 * 8)()
        rank = self.c.ct_rows_tensor(self.handle, which, ctypes.byref(data), kind, shape, strides)
        if rank < 0 or kind.value.decode() not in TYPES:
            return None
        dtype = np.dtype(TYPES[kind.value.decode()])
        shape, strides = list(shape[:rank]), list(strides[:rank])
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else 0
        if any(s < 0 for s in strides):
            return None
        memory = (ctypes.c_char * (span * dtype.itemsize)).from_address(data.value or 0)
        flat = np.frombuffer(memory, dtype=dtype)
        return np.lib.stride_tricks.as_strided(flat, shape, [s * dtype.itemsize for s in strides])

    def output(self):
        """What the last run made, or None."""
        return self._tensor(-1)

    def time(self, repeat):
        seconds = self.c.ct_rows_time(self.handle, repeat)
        if seconds < 0:
            raise RuntimeError("a run failed")
        return seconds

    def close(self):
        self.operands = []
        self.c.ct_rows_close(self.handle)
