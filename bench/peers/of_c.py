"""The C libraries' side of matmul and vector math (c_peers.c), timed in C."""

import ctypes
import glob
import importlib.util
import os

import numpy as np

DEBIAN = "/usr/lib/x86_64-linux-gnu"
BLAS = {
    "openblas": [f"{DEBIAN}/openblas-pthread/libopenblas.so.0"],
    "blis": [f"{DEBIAN}/blis-pthread/libblis.so.4", f"{DEBIAN}/blis-serial/libblis.so.4",
             f"{DEBIAN}/blis-openmp/libblis.so.4"],
    "onednn": [f"{DEBIAN}/libdnnl.so.2"],
    "mkl": [],
    "libxsmm": [""],
}
VML = {"exp": "Exp", "log": "Ln", "tanh": "Tanh", "erf": "Erf", "expm1": "Expm1", "log1p": "Log1p",
       "sin": "Sin", "cos": "Cos", "erfc": "Erfc", "normcdf": "CdfNorm"}


class Run:
    """What is run, timed by its own loop."""

    def __init__(self, c, handle, out):
        self.c, self.handle, self.out = c, handle, out

    def __call__(self):
        self.c.peer_time(self.handle, 1)
        return self.out

    def time(self, repeat):
        return self.c.peer_time(self.handle, repeat)

    def close(self):
        self.c.peer_close(self.handle)


class Library:
    def __init__(self, path, mkl_folder):
        self.c = c = ctypes.CDLL(path)
        c.peer_fault.restype = c.peer_describe.restype = ctypes.c_char_p
        c.peer_describe.argtypes = 2 * [ctypes.c_char_p]
        c.peer_time.restype, c.peer_time.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_long]
        c.peer_close.argtypes = [ctypes.c_void_p]
        c.peer_gemm.restype = c.peer_mvec.restype = c.peer_vml.restype = ctypes.c_void_p
        i, p = ctypes.c_int, ctypes.c_void_p
        c.peer_gemm.argtypes = [ctypes.c_char_p] * 2 + [i] * 5 + [p, i, i, p, i, i, p, i]
        c.peer_mvec.argtypes = [ctypes.c_char_p, i, i, ctypes.c_size_t, p, p]
        c.peer_vml.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, p, p]
        BLAS["mkl"] = sorted(glob.glob(f"{mkl_folder}/libmkl_rt.so.*"))
        self.paths, self.versions = {}, {}
        for which, paths in BLAS.items():
            path = next((p for p in paths if not p or os.path.exists(p)), None)
            if path is None:
                continue
            text = c.peer_describe(which.encode(), path.encode()).decode()
            if text != "absent":
                self.paths[which], self.versions[which] = path, text
        self.versions["libmvec"] = f"glibc {os.confstr('CS_GNU_LIBC_VERSION').split()[-1]}"

    def matmul(self, v):
        """{library: runs}"""
        a, b = v.operands[:2]
        out = v.like_output()
        if a.ndim != 2 or b.ndim != 2 or out.ndim != 2:
            return {}
        (m, k), n = a.shape, b.shape[1]
        found = {}
        for which, path in self.paths.items():
            runs = []
            for gemv in (0, 1) if 1 in (m, n) else (0,):
                c = v.like_output()
                (lda, ta), (ldb, tb) = leading(a), leading(b)
                handle = self.c.peer_gemm(
                    which.encode(), path.encode(), gemv, v.dtype == "f64", m, n, k,
                    a.ctypes.data, lda, ta, b.ctypes.data, ldb, tb, c.ctypes.data, n)
                if handle:
                    runs.append(Run(self.c, handle, c))
            if runs:
                found[which] = runs
        return found

    def vmath(self, v):
        x, is_double = v.operands[0], v.dtype == "f64"
        found = {}
        out = v.like_output()
        handle = self.c.peer_mvec(v.op.encode(), is_double, v.isa == "avx512", x.size,
                                  x.ctypes.data, out.ctypes.data)
        if handle:
            found["libmvec"] = [Run(self.c, handle, out)]
        if v.op in VML and "mkl" in self.paths:
            name = f"vm{'d' if is_double else 's'}{VML[v.op]}"
            out = v.like_output()
            handle = self.c.peer_vml(self.paths["mkl"].encode(), name.encode(), x.size,
                                     x.ctypes.data, out.ctypes.data)
            if handle:
                found["mkl vml"] = [Run(self.c, handle, out)]
        return found


class Training:
    """ggml's and KANN's training step, in f32; both are optional."""

    def __init__(self, library, ggml_path):
        self.c, self.ggml, self.kann, self.versions = library.c, None, None, {}
        self.c.peer_kann.restype = ctypes.c_void_p
        self.c.peer_kann_loss.restype, self.c.peer_kann_loss.argtypes = ctypes.c_float, [ctypes.c_void_p]
        self.c.peer_kann.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p,
                                     ctypes.c_int64, ctypes.c_int] + 2 * [ctypes.c_void_p]
        found = importlib.util.find_spec("cynn") and importlib.util.find_spec("cynn.kann")
        if found:
            self.kann = found.origin.encode()
            self.versions["kann"] = "KANN as cynn ships it, RMSprop (it has no Adam)"
        if os.path.exists(ggml_path):
            self.ggml = g = ctypes.CDLL(ggml_path)
            g.ggml_peer_open.restype = ctypes.c_void_p
            g.ggml_peer_open.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int,
                                         ctypes.c_void_p, ctypes.c_void_p]
            g.ggml_peer_time.restype = ctypes.c_double
            g.ggml_peer_time.argtypes = [ctypes.c_void_p, ctypes.c_long]
            g.ggml_peer_loss.restype, g.ggml_peer_loss.argtypes = ctypes.c_float, [ctypes.c_void_p]
            g.ggml_peer_close.argtypes = [ctypes.c_void_p]
            self.versions["ggml"] = "ggml as ggml-python 0.0.45 ships it, static graphs, AdamW"

    def steps(self, v):
        if v.dtype != "f32":
            return {}
        widths = np.array([int(w) for w in v.form.split()[0].split("-")], np.int64)
        x, target = v.operands[:2]
        entropy = int("cross" in v.form)
        if entropy:
            target = np.eye(widths[-1], dtype=np.float32)[target]
        x, target = np.ascontiguousarray(x), np.ascontiguousarray(target)
        args = (len(widths) - 1, widths.ctypes.data, len(x), entropy, x.ctypes.data, target.ctypes.data)
        found = {}
        if self.kann:
            run = Step(self.c.peer_time, self.c.peer_kann_loss, lambda h: None,
                       self.c.peer_kann(self.kann, *args), (x, target))
            found["kann"] = [run]
        if self.ggml:
            g = self.ggml
            found["ggml"] = [Step(g.ggml_peer_time, g.ggml_peer_loss, g.ggml_peer_close,
                                  g.ggml_peer_open(*args), (x, target))]
        return found


class Step:
    """A training step; it must train: the loss falls within a few steps."""

    def __init__(self, time, loss, close, handle, keep):
        self.loops, self.loss, self.free, self.handle, self.keep = time, loss, close, handle, keep
        before = self.loss(handle)
        self.time(30)
        after = self.loss(handle)
        if not after < before:
            raise RuntimeError(f"it does not train: loss {before} and then {after}")

    def __call__(self):
        self.loops(self.handle, 1)

    def time(self, repeat):
        return self.loops(self.handle, repeat)

    def close(self):
        self.free(self.handle)


def leading(a):
    """The leading stride in items, and whether the matrix is stored turned."""
    rows, columns = (s // a.itemsize for s in a.strides)
    if columns == 1 or a.shape[1] == 1:
        return max(rows, a.shape[1]), 0
    return max(columns, a.shape[0]), 1
