"""JAX's side of the rows: compiled by jit, each run waited for. It makes new results only."""

import jax
import jax.numpy as jnp

FORMULAS = {}


def formula(*ops):
    def keep(make):
        for op in ops:
            FORMULAS[op] = make
        return make
    return keep


def version():
    return f"JAX {jax.__version__} ({jax.default_backend()}), jit"


def compiled(f, *operands):
    operands = [jnp.array(a) for a in operands]
    g = jax.jit(f)
    return lambda: g(*operands).block_until_ready()


ELEMENTWISE = {"exp": jnp.exp, "log": jnp.log, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid,
               "erf": jax.scipy.special.erf, "expm1": jnp.expm1, "log1p": jnp.log1p,
               "gelu": lambda a: jax.nn.gelu(a, approximate=False), "silu": jax.nn.silu,
               "gelu_tanh": lambda a: jax.nn.gelu(a, approximate=True), "sin": jnp.sin,
               "cos": jnp.cos, "softplus": jax.nn.softplus, "relu": jax.nn.relu,
               "add": jnp.add, "mul": jnp.multiply, "sub": jnp.subtract, "div": jnp.divide,
               "less": jnp.less, "lt": jnp.less, "where": jnp.where, "add_row": jnp.add,
               "add_column": jnp.add, "add_col": jnp.add, "add_transposed": jnp.add,
               "matmul": jnp.matmul, "gemm": jnp.matmul, "gemv": jnp.matmul, "dot": jnp.dot}


@formula(*ELEMENTWISE)
def elementwise(v):
    return compiled(ELEMENTWISE[v.op], *v.operands)


@formula("axpby")
def axpby(v):
    a, b = v.factors()
    return compiled(lambda x, y: a * x + b * y, *v.operands[:2])


@formula("clamp", "clip")
def clamp(v):
    lo, hi = v.bounds()
    return compiled(lambda a: jnp.clip(a, lo, hi), v.operands[0])


REDUCTIONS = {"sum": jnp.sum, "max": jnp.max, "min": jnp.min, "argmax": jnp.argmax,
              "mean": jnp.mean, "cumsum": jnp.cumsum,
              "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax,
              "logsumexp": jax.nn.logsumexp}


@formula(*REDUCTIONS)
def reduction(v):
    f, axis = REDUCTIONS[v.op], v.axis(-1 if "soft" in v.op or "exp" in v.op else None)
    return compiled(lambda a: f(a, axis=axis), v.operands[0])


@formula("var", "variance", "std")
def var(v):
    f, axis, ddof = jnp.std if v.op == "std" else jnp.var, v.axis(), v.ddof()
    return compiled(lambda a: f(a, axis=axis, ddof=ddof), v.operands[0])


@formula("norm")
def norm(v):
    axis = v.axis()
    return compiled(lambda a: jnp.sqrt(jnp.sum(a * a, axis=axis)), v.operands[0])


@formula("layer_norm", "layernorm")
def layer_norm(v):
    def f(a, scale, shift):
        centred = a - a.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale + shift
    return compiled(f, *v.operands[:3])


@formula("train_step")
def train_step(v):
    """As of_torch.train_step, with Adam by hand; the whole step is compiled."""
    widths = [int(w) for w in v.form.split()[0].split("-")]
    entropy = "cross" in v.form
    x, target = (jnp.array(a) for a in v.operands[:2])
    keys = jax.random.split(jax.random.key(0), len(widths))
    w = [(jax.random.normal(k, (i, o), x.dtype) / i ** 0.5, jnp.zeros(o, x.dtype))
         for k, i, o in zip(keys, widths, widths[1:])]
    v.compare = False

    def loss(w):
        h = x
        for i, (a, b) in enumerate(w):
            h = h @ a + b
            if i + 1 < len(w):
                h = jax.nn.relu(h)
        if entropy:
            return -jnp.take_along_axis(jax.nn.log_softmax(h), target[:, None], 1).mean()
        return ((h - target) ** 2).mean()

    def step(state):
        w, m, s, t = state
        g = jax.grad(loss)(w)
        t = t + 1
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        s = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, s, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        w = jax.tree.map(lambda p, a, b: (p - rate * a / (jnp.sqrt(b) + 1e-8)).astype(p.dtype),
                         w, m, s)
        return w, m, s, t
    zeros = jax.tree.map(jnp.zeros_like, w)
    state = (w, zeros, jax.tree.map(jnp.zeros_like, w), jnp.zeros((), jnp.float32))
    compiled_step = jax.jit(step, donate_argnums=0)

    def run():
        nonlocal state
        state = compiled_step(state)
        state[3].block_until_ready()
    return run
