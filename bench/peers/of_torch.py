"""PyTorch's side of the rows, eager, at its best: outputs reused where it can, and where there are
several ways all are given and the fastest counts."""

import torch
import torch.nn.functional as F

FORMULAS = {}


def formula(*ops):
    def keep(make):
        for op in ops:
            FORMULAS[op] = make
        return make
    return keep


def version():
    return (f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, "
            f"oneDNN {'on' if torch.backends.mkldnn.is_available() else 'off'}, "
            f"MKL {'on' if torch.backends.mkl.is_available() else 'off'}")


def tensors(v):
    return [torch.from_numpy(a) for a in v.operands]


def output(v):
    return torch.from_numpy(v.like_output())


aten = torch.ops.aten
nn = torch._C._nn

UNARY = {"exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log1p": torch.log1p,
         "tanh": torch.tanh, "sigmoid": torch.sigmoid, "erf": torch.erf, "erfc": torch.erfc,
         "sin": torch.sin, "cos": torch.cos, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
         "neg": torch.neg, "abs": torch.abs, "square": torch.square, "sinh": torch.sinh,
         "cosh": torch.cosh, "logical_not": torch.logical_not, "not": torch.logical_not,
         "exp2": torch.exp2, "log2": torch.log2,
         "silu": nn.silu if hasattr(nn, "silu") else aten.silu.out,
         "gelu": nn.gelu, "softplus": nn.softplus, "mish": aten.mish.out,
         "normcdf": torch.special.ndtr}
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
          "maximum": torch.maximum, "minimum": torch.minimum, "pow": torch.pow,
          "less": torch.lt, "lt": torch.lt, "greater": torch.gt, "gt": torch.gt, "le": torch.le,
          "equal": torch.eq, "eq": torch.eq, "and": torch.logical_and,
          "logical_and": torch.logical_and, "or": torch.logical_or, "logical_or": torch.logical_or,
          "add_row": torch.add, "add_column": torch.add, "add_col": torch.add,
          "add_scalar": torch.add, "add_transposed": torch.add, "mul_row": torch.mul,
          "mul_column": torch.mul, "add_outer": torch.add, "add_broadcast": torch.add}


@formula(*UNARY)
def unary(v):
    f, a = UNARY[v.op], tensors(v)[0]
    if v.is_new:
        return lambda: f(a)
    out = output(v)
    return lambda: f(a, out=out)


@formula("gelu_tanh")
def gelu_tanh(v):
    a, out = tensors(v)[0], output(v)
    return lambda: nn.gelu(a, approximate="tanh", out=out)


@formula("relu")
def relu(v):
    a, out = tensors(v)[0], output(v)
    return [lambda: aten.relu.out(a, out=out), lambda: torch.clamp_min(a, 0, out=out)]


@formula("clamp", "clip")
def clamp(v):
    a, out = tensors(v)[0], output(v)
    lo, hi = v.bounds()
    return lambda: torch.clamp(a, lo, hi, out=out)


@formula(*BINARY)
def binary(v):
    f, (a, b) = BINARY[v.op], tensors(v)[:2]
    if v.is_new:
        return lambda: f(a, b)
    out = output(v)
    return lambda: f(a, b, out=out)


@formula("where")
def where(v):
    m, a, b = tensors(v)[:3]
    out = output(v)
    return [lambda: torch.where(m, a, b, out=out), lambda: torch.where(m, a, b)]


@formula("axpby")
def axpby(v):
    x, y = tensors(v)[:2]
    a, b = v.factors()
    out = output(v)

    def two():
        torch.mul(y, b, out=out)
        return out.add_(x, alpha=a)
    return two


@formula("transpose_copy", "compact_transpose", "transpose copy", "compact")
def transpose_copy(v):
    a, out = tensors(v)[0], output(v)
    if a.shape != out.shape:
        a = a.t()
    return lambda: out.copy_(a)


@formula("transpose")
def transpose(v):
    a = tensors(v)[0]
    return lambda: a.t()


@formula("slice")
def slices(v):
    a = tensors(v)[0]
    return lambda: a[1::2]


@formula("matmul", "gemm", "gemv")
def matmul(v):
    a, b = tensors(v)[:2]
    if v.is_new:
        return [lambda: torch.mm(a, b), lambda: torch.matmul(a, b)]
    out = output(v)
    if a.dim() == b.dim() == 2:
        return lambda: torch.mm(a, b, out=out)
    return lambda: torch.matmul(a, b, out=out)


@formula("dense")
def dense(v):
    x, w, b = tensors(v)[:3]
    out = output(v)
    turned = w.shape[0] != x.shape[1]
    activation = next((n for n in ("relu", "tanh", "sigmoid", "gelu", "silu") if n in v.form), None)
    ways = {None: lambda t: t, "relu": torch.relu_, "tanh": torch.tanh_, "sigmoid": torch.sigmoid_,
            "gelu": lambda t: nn.gelu(t, out=t), "silu": lambda t: F.silu(t, inplace=True)}
    w2 = w.t() if turned else w
    return lambda: ways[activation](torch.addmm(b, x, w2, out=out))


@formula("dot")
def dot(v):
    a, b = tensors(v)[:2]
    return lambda: torch.dot(a, b)


REDUCTIONS = {"sum": torch.sum, "max": torch.amax, "min": torch.amin, "argmax": torch.argmax,
              "argmin": torch.argmin, "mean": torch.mean, "prod": torch.prod, "any": torch.any,
              "all": torch.all, "cumsum": torch.cumsum}


@formula(*REDUCTIONS)
def reduction(v):
    f, a, axis = REDUCTIONS[v.op], tensors(v)[0], v.axis()
    if axis is None and v.op in ("max", "min"):
        whole = torch.max if v.op == "max" else torch.min
        return [lambda: whole(a), lambda: f(a)]
    if axis is None or v.is_new:
        return (lambda: f(a)) if axis is None else (lambda: f(a, axis))
    out = torch.empty(0, dtype=f(a, axis).dtype)
    return [lambda: f(a, axis, out=out), lambda: f(a, axis)]


@formula("var", "variance", "std")
def var(v):
    f, a, axis = torch.std if v.op == "std" else torch.var, tensors(v)[0], v.axis()
    dims = None if axis is None else [axis]
    return lambda: f(a, dims, correction=v.ddof())


@formula("norm")
def norm(v):
    a, axis = tensors(v)[0], v.axis()
    return lambda: torch.linalg.vector_norm(a, dim=axis)


@formula("count", "count_nonzero", "mask_count")
def count(v):
    a, axis = tensors(v)[0], v.axis()
    return lambda: torch.count_nonzero(a, dim=axis)


@formula("sort")
def sort(v):
    a = tensors(v)[0]
    return [lambda: torch.sort(a)[0], lambda: torch.sort(a, stable=True)[0]]


@formula("argsort")
def argsort(v):
    a = tensors(v)[0]
    return lambda: torch.argsort(a, stable=True)


@formula("topk")
def topk(v):
    a = tensors(v)[0]
    k = v.output().shape[-1]
    return lambda: torch.topk(a, k)[0]


@formula("take")
def take(v):
    a, index = tensors(v)[:2]
    if v.is_new:
        return lambda: torch.index_select(a, 0, index)
    out = output(v)
    return lambda: torch.index_select(a, 0, index, out=out)


@formula("softmax")
def softmax(v):
    a, axis = tensors(v)[0], v.axis(-1)
    out = output(v)
    return [lambda: aten._softmax.out(a, axis, False, out=out), lambda: torch.softmax(a, axis)]


@formula("log_softmax")
def log_softmax(v):
    a, axis = tensors(v)[0], v.axis(-1)
    out = output(v)
    return [lambda: aten._log_softmax.out(a, axis, False, out=out),
            lambda: torch.log_softmax(a, axis)]


@formula("logsumexp")
def logsumexp(v):
    a, axis = tensors(v)[0], v.axis(-1)
    out = torch.empty(0, dtype=a.dtype)
    return lambda: torch.logsumexp(a, [axis], out=out)


@formula("layer_norm", "layernorm")
def layer_norm(v):
    a, scale, shift = tensors(v)[:3]
    shape = list(scale.shape)
    return lambda: F.layer_norm(a, shape, scale, shift, 1e-5)


@formula("cross_entropy")
def cross_entropy(v):
    logits, labels = tensors(v)[:2]
    how = next((n for n in ("sum", "none") if n in v.form), "mean")
    return lambda: F.cross_entropy(logits, labels, reduction=how)


def mask_and_values(v):
    a, m = tensors(v)[:2]
    return (m, a) if m.dtype == torch.bool else (a, m)


@formula("softmax_backward")
def softmax_backward(v):
    a, g = tensors(v)[:2]
    axis, out = v.axis(-1), output(v)
    y = torch.softmax(a, axis)
    return lambda: aten._softmax_backward_data.out(g, y, axis, a.dtype, grad_input=out)


@formula("log_softmax_backward")
def log_softmax_backward(v):
    a, g = tensors(v)[:2]
    axis, out = v.axis(-1), output(v)
    y = torch.log_softmax(a, axis)
    return lambda: aten._log_softmax_backward_data.out(g, y, axis, a.dtype, out=out)


@formula("cross_entropy_backward")
def cross_entropy_backward(v):
    """What autograd runs: the pulls of nll_loss and log_softmax, into kept tensors."""
    logits, labels = tensors(v)[:2]
    y, out = torch.log_softmax(logits, -1), output(v)
    total = torch.tensor(float(len(labels)), dtype=y.dtype)
    one, g = torch.ones((), dtype=y.dtype), torch.empty_like(y)

    def run():
        aten.nll_loss_backward.grad_input(one, y, labels, None, 1, -100, total, grad_input=g)
        return aten._log_softmax_backward_data.out(g, y, -1, y.dtype, out=out)
    return run


@formula("layer_norm_backward")
def layer_norm_backward(v):
    a, scale, shift, g = tensors(v)[:4]
    shape = list(scale.shape)
    _, mean, rstd = aten.native_layer_norm(a, shape, scale, shift, 1e-5)
    return lambda: aten.native_layer_norm_backward(g, a, shape, mean, rstd, scale, shift,
                                                   [True, True, True])[0]


@formula("masked_fill")
def masked_fill(v):
    m, a = mask_and_values(v)
    out = output(v)

    def reused():
        out.copy_(a)
        return out.masked_fill_(m, 0.5)
    return [lambda: torch.masked_fill(a, m, 0.5), reused]


@formula("masked_select", "compress")
def masked_select(v):
    m, a = mask_and_values(v)
    out = torch.empty(0, dtype=a.dtype)
    return [lambda: torch.masked_select(a, m), lambda: torch.masked_select(a, m, out=out)]


@formula("to f32", "to f64", "to i32", "i32 to f32", "i64 to f32", "cast")
def cast(v):
    a, out = tensors(v)[0], output(v)
    return [lambda: a.to(out.dtype), lambda: out.copy_(a)]


@formula("zeros")
def zeros(v):
    n, kind = v.output().shape, output(v).dtype
    return lambda: torch.zeros(n, dtype=kind)


@formula("arange")
def arange(v):
    n, out = v.size[0], output(v)
    return [lambda: torch.arange(n, dtype=out.dtype), lambda: torch.arange(n, out=out)]


# --- backward passes: the functions that autograd calls, without its bookkeeping, and autograd itself

@formula("softmax_backward", "log_softmax_backward")
def softmax_backward(v):
    x, g = tensors(v)[:2]
    axis, out = v.axis(-1), output(v)
    if v.op == "softmax_backward":
        y, f = torch.softmax(x, axis), aten._softmax_backward_data.out
        return lambda: f(g, y, axis, x.dtype, grad_input=out)
    y, f = torch.log_softmax(x, axis), aten._log_softmax_backward_data.out
    return lambda: f(g, y, axis, x.dtype, out=out)


@formula("cross_entropy_backward")
def cross_entropy_backward(v):
    x, labels = tensors(v)[:2]
    y = torch.log_softmax(x, 1)
    _, weight = aten.nll_loss_forward(y, labels, None, 1, -100)
    one, out = torch.ones((), dtype=x.dtype), output(v)

    def parts():
        g = aten.nll_loss_backward(one, y, labels, None, 1, -100, weight)
        return aten._log_softmax_backward_data.out(g, y, 1, x.dtype, out=out)
    leaf = x.clone().requires_grad_()
    loss = F.cross_entropy(leaf, labels)
    return [parts, lambda: torch.autograd.grad(loss, leaf, retain_graph=True)[0]]


@formula("layer_norm_backward")
def layer_norm_backward(v):
    x, scale, shift, g = tensors(v)[:4]
    shape = list(scale.shape)
    _, mean, rstd = torch.native_layer_norm(x, shape, scale, shift, 1e-5)
    return lambda: aten.native_layer_norm_backward(g, x, shape, mean, rstd, scale, shift,
                                                   [True, True, True])[0]


# --- training: these write their own copies, so that they have no answer to compare

def steppers(make, parameters, work):
    """A run for each form of the optimiser that PyTorch has: fused, foreach, one by one."""
    runs = []
    for how in ({"fused": True}, {"foreach": True}, {"foreach": False}):
        mine = [p.detach().clone().requires_grad_() for p in parameters]
        try:
            optimiser = make(mine, **how)
            run = work(mine, optimiser)
            run()
        except (RuntimeError, TypeError, ValueError):
            continue
        runs.append(run)
    return runs


OPTIMISERS = {
    "adam": lambda p, **how: torch.optim.Adam(p, lr=1e-3, **how),
    "adamw": lambda p, **how: torch.optim.AdamW(p, lr=1e-3, **how),
    "sgd": lambda p, **how: torch.optim.SGD(p, lr=1e-2, **how),
    "sgd_momentum": lambda p, **how: torch.optim.SGD(p, lr=1e-2, momentum=0.9, **how),
}


@formula(*OPTIMISERS)
def optimiser_step(v):
    n = v.size[0]
    kind = torch.float32 if v.dtype == "f32" else torch.float64
    scale = 1e-30 if "vanish" in v.form else 1.0

    def work(parameters, optimiser):
        for p in parameters:
            p.grad = scale * torch.randn(p.shape, dtype=p.dtype)
        return lambda: optimiser.step() and None
    v.compare = False
    return steppers(OPTIMISERS[v.op], [torch.randn(n, dtype=kind)], work)


@formula("train_step")
def train_step(v):
    """Form: "784-512-10 cross entropy" or "... mse": dense layers, relu between them."""
    x, target = tensors(v)[:2]
    widths = [int(w) for w in v.form.split()[0].split("-")]
    entropy = "cross" in v.form
    parameters = []
    for i, o in zip(widths, widths[1:]):
        parameters += [torch.randn(i, o, dtype=x.dtype) / i ** 0.5, torch.zeros(o, dtype=x.dtype)]
    v.compare = False

    def work(mine, optimiser):
        def run():
            h = x
            for i in range(0, len(mine), 2):
                h = torch.addmm(mine[i + 1], h, mine[i])
                if i + 2 < len(mine):
                    h = torch.relu(h)
            loss = F.cross_entropy(h, target) if entropy else F.mse_loss(h, target)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        return run

    def work_linear(mine, optimiser):
        for i in range(0, len(mine), 2):
            mine[i].data = mine[i].data.t().contiguous()

        def run():
            h = x
            for i in range(0, len(mine), 2):
                h = F.linear(h, mine[i], mine[i + 1])
                if i + 2 < len(mine):
                    h = F.relu(h, inplace=True)
            loss = F.cross_entropy(h, target) if entropy else F.mse_loss(h, target)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        return run
    return (steppers(OPTIMISERS["adam"], parameters, work) +
            steppers(OPTIMISERS["adam"], parameters, work_linear))


# --- network ops; backward by autograd, all gradients, of which the first is the answer

NETWORK = {
    "conv1d": (3, lambda x, w, b: F.conv1d(x, w, b, padding=1)),
    "conv2d": (3, lambda x, w, b: F.conv2d(x, w, b, padding=1)),
    "max_pool": (1, lambda x: F.max_pool2d(x, 2)),
    "avg_pool": (1, lambda x: F.avg_pool2d(x, 2)),
    "batch_norm": (3, lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.0, 1e-5)),
    "rms_norm": (2, lambda x, w: F.rms_norm(x, w.shape, w, 1e-5)),
    "attention": (3, F.scaled_dot_product_attention),
    "embedding": (1, lambda x, index: F.embedding(index, x)),
    "dropout": (1, lambda x: F.dropout(x, 0.5, True)),
    "bce": (1, F.binary_cross_entropy_with_logits),
}


@formula(*NETWORK)
def network(v):
    x, f = tensors(v), NETWORK[v.op][1]
    v.compare = v.op != "dropout"
    return lambda: f(*x)


@formula(*(op + "_backward" for op in NETWORK))
def network_backward(v):
    *x, g = tensors(v)
    leaves, f = NETWORK[v.op.removesuffix("_backward")]
    v.compare = "dropout" not in v.op
    x = [t.clone().requires_grad_() if i < leaves else t for i, t in enumerate(x)]
    y = f(*x)
    return lambda: torch.autograd.grad(y, x[:leaves], g, retain_graph=True)[0]


NEEDS_GRADIENTS = ({"train_step", "cross_entropy_backward"} | set(OPTIMISERS) |
                   {op + "_backward" for op in NETWORK})
