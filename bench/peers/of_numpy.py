"""NumPy's side of the rows: op -> a function of a View, which returns what is run (or several to
choose the fastest from); a run returns its answer."""

import numpy as np

FORMULAS = {}


def formula(*ops):
    def keep(make):
        for op in ops:
            FORMULAS[op] = make
        return make
    return keep


def version():
    config = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"NumPy {np.__version__}, {blas.get('name', '?')} {blas.get('version', '')}"


UNARY = {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
         "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "neg": np.negative, "abs": np.abs,
         "square": np.square, "logical_not": np.logical_not, "not": np.logical_not,
         "sinh": np.sinh, "cosh": np.cosh, "log2": np.log2, "exp2": np.exp2}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
          "maximum": np.maximum, "minimum": np.minimum, "pow": np.power,
          "less": np.less, "lt": np.less, "greater": np.greater, "gt": np.greater, "le": np.less_equal,
          "equal": np.equal, "eq": np.equal, "and": np.logical_and, "logical_and": np.logical_and,
          "or": np.logical_or, "logical_or": np.logical_or,
          "add_row": np.add, "add_column": np.add, "add_col": np.add, "add_scalar": np.add,
          "add_transposed": np.add, "mul_row": np.multiply, "mul_column": np.multiply,
          "add_outer": np.add, "add_broadcast": np.add}


@formula(*UNARY)
def unary(v):
    f, a = UNARY[v.op], v.operands[0]
    if v.is_new:
        return lambda: f(a)
    out = v.like_output()
    return lambda: f(a, out)


@formula(*BINARY)
def binary(v):
    f, (a, b) = BINARY[v.op], v.operands[:2]
    if v.is_new:
        return lambda: f(a, b)
    out = v.like_output()
    return lambda: f(a, b, out)


@formula("sigmoid")
def sigmoid(v):
    a, out = v.operands[0], v.like_output()

    def run():
        np.negative(a, out)
        np.exp(out, out)
        np.add(out, 1, out)
        return np.divide(1, out, out)
    return run


@formula("relu")
def relu(v):
    a, out = v.operands[0], v.like_output()
    zero = a.dtype.type(0)
    return lambda: np.maximum(a, zero, out)


@formula("clamp", "clip")
def clamp(v):
    a, out = v.operands[0], v.like_output()
    lo, hi = v.bounds()
    lo, hi = a.dtype.type(lo), a.dtype.type(hi)
    return lambda: np.clip(a, lo, hi, out)


@formula("where")
def where(v):
    m, a, b = v.operands[:3]
    out = v.like_output()

    def copies():
        np.copyto(out, b)
        np.copyto(out, a, where=m)
        return out
    return [lambda: np.where(m, a, b), copies]


@formula("axpby")
def axpby(v):
    x, y = v.operands[:2]
    a, b = v.factors()
    out, other = v.like_output(), v.like_output()

    def run():
        np.multiply(x, a, out)
        np.multiply(y, b, other)
        return np.add(out, other, out)
    return run


@formula("transpose_copy", "compact_transpose", "transpose copy", "compact")
def transpose_copy(v):
    a, out = v.operands[0], v.like_output()
    if a.shape != out.shape:
        a = a.T

    def run():
        np.copyto(out, a)
        return out
    return run


@formula("transpose")
def transpose(v):
    a = v.operands[0]
    return lambda: a.T


@formula("slice")
def slices(v):
    a = v.operands[0]
    return lambda: a[1::2]


@formula("matmul", "gemm", "gemv")
def matmul(v):
    a, b = v.operands[:2]
    if v.is_new:
        return lambda: np.matmul(a, b)
    out = v.like_output()
    return lambda: np.matmul(a, b, out)


@formula("dot")
def dot(v):
    a, b = v.operands[:2]
    return lambda: np.dot(a, b)


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax,
              "argmin": np.argmin, "mean": np.mean, "prod": np.prod, "any": np.any, "all": np.all,
              "cumsum": np.cumsum}


@formula(*REDUCTIONS)
def reduction(v):
    f, a, axis = REDUCTIONS[v.op], v.operands[0], v.axis()
    if v.is_new or axis is None:
        return lambda: f(a, axis=axis)
    out = v.like_output(dtype=np.int64 if v.op.startswith("arg") else None)
    out = out.reshape(np.shape(f(a, axis=axis)))
    return lambda: f(a, axis=axis, out=out)


@formula("var", "variance", "std")
def var(v):
    f, a, axis = np.std if v.op == "std" else np.var, v.operands[0], v.axis()
    return lambda: f(a, axis=axis, ddof=v.ddof())


@formula("norm")
def norm(v):
    a, axis = v.operands[0], v.axis()
    flat = a.reshape(-1) if axis is None else a
    return lambda: np.linalg.norm(flat, axis=axis)


@formula("count", "count_nonzero", "mask_count")
def count(v):
    a, axis = v.operands[0], v.axis()
    return lambda: np.count_nonzero(a, axis=axis)


@formula("sort")
def sort(v):
    a = v.operands[0]
    return lambda: np.sort(a)


@formula("argsort")
def argsort(v):
    a = v.operands[0]
    return lambda: np.argsort(a, kind="stable")


@formula("take")
def take(v):
    a, index = v.operands[:2]
    if v.is_new:
        return lambda: np.take(a, index, axis=0)
    out = v.like_output()
    return lambda: np.take(a, index, axis=0, out=out, mode="clip")


@formula("softmax")
def softmax(v):
    a, axis = v.operands[0], v.axis(-1)
    out = v.like_output()

    def run():
        np.subtract(a, a.max(axis=axis, keepdims=True), out)
        np.exp(out, out)
        return np.divide(out, out.sum(axis=axis, keepdims=True), out)
    return run


@formula("masked_select", "compress")
def masked_select(v):
    m, a = v.operands[:2]
    if a.dtype == bool:
        m, a = a, m
    return lambda: a[m]


@formula("to f32", "to f64", "to i32", "i32 to f32", "i64 to f32", "cast")
def cast(v):
    a, out = v.operands[0], v.like_output()

    def reused():
        np.copyto(out, a, casting="unsafe")
        return out
    return [lambda: a.astype(out.dtype), reused]


@formula("zeros")
def zeros(v):
    n, kind = v.output().shape, v.output().dtype
    return lambda: np.zeros(n, kind)


@formula("arange")
def arange(v):
    n, kind = v.size[0], v.output().dtype
    return lambda: np.arange(n, dtype=kind)
