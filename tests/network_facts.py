"""Prints tests/network_facts.inc: what PyTorch says of the network ops of tests/suite_network_facts.c, in f64.
Inputs are made of integers, so that both sides have the same ones; a result y is told by its shape and by the sum of its
items times irregular weights, as is the gradient of that sum in each input.

    python tests/network_facts.py > tests/network_facts.inc"""

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def bits(n, seed):
    k = (torch.arange(n, dtype=torch.int64) + 1000 * seed + 1) * 2654435761 % 2**32
    k = (k ^ (k >> 15)) * 2246822519 % 2**32
    return k >> 24


def seq(shape, seed):
    n = torch.Size(shape).numel()
    return ((2 * bits(n, seed) - 255).to(torch.float64) / 128).reshape(shape)


def part(shape, seed):
    """In 0 to 1, ends excluded."""
    return (seq(shape, seed) + 2) / 4


def labels(shape, classes, seed):
    return (bits(torch.Size(shape).numel(), seed) % classes).reshape(shape)


def mask(shape, seed):
    return (bits(torch.Size(shape).numel(), seed) >= 64).reshape(shape)


def shares(shape, seed):
    """Positive, of sum 1 along axis 1."""
    p = part(shape, seed)
    return p / p.sum(1, keepdim=True)


ACTIVATIONS = [("identity", lambda t: t), ("relu", torch.relu), ("tanh", torch.tanh),
               ("sigmoid", torch.sigmoid), ("silu", F.silu), ("gelu", F.gelu),
               ("gelu_tanh", lambda t: F.gelu(t, approximate="tanh"))]
CASES = []


def case(name, shapes, f):
    CASES.append((name, shapes, f))


for name, f in ACTIVATIONS:
    case("dense_" + name, [(3, 5), (5, 4), (4,)], lambda x, w, b, f=f: f(x @ w + b))
case("dense_batches", [(2, 3, 5), (5, 4), (4,)], lambda x, w, b: torch.tanh(x @ w + b))
case("dense_without_bias", [(2, 3, 5), (5, 4)], lambda x, w: torch.sigmoid(x @ w))
for axis in range(3):
    case(f"softmax_{axis}", [(3, 5, 2)], lambda x, a=axis: torch.softmax(x, a))
    case(f"log_softmax_{axis}", [(3, 5, 2)], lambda x, a=axis: torch.log_softmax(x, a))
case("layer_norm_1", [(3, 7), (7,), (7,)], lambda x, w, b: F.layer_norm(x, (7,), w, b, 1e-5))
case("layer_norm_2", [(2, 3, 5), (3, 5), (3, 5)], lambda x, w, b: F.layer_norm(x, (3, 5), w, b, 1e-3))
case("rms_norm", [(3, 7), (7,)], lambda x, w: F.rms_norm(x, (7,), w, 1e-5))
for i, shape in enumerate([(5, 3), (3, 4, 5), (2, 3, 4, 5)]):
    c = (shape[1],)
    case(f"batch_norm_{i}", [shape, c, c], lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0, 1e-5))
    case(f"batch_norm_moments_{i}", [shape, c, c],
         lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0, 1e-5))
    case(f"batch_norm_eval_{i}", [shape, c, c],
         lambda x, w, b, c=c: F.batch_norm(x, seq(c, 7), part(c, 8), w, b, False, 0, 1e-5))
CONV1 = [((2, 3, 9), 4, (3,), dict(stride=2, padding=1)), ((1, 4, 9), 6, (2,), dict(dilation=3, groups=2)),
         ((2, 3, 7), 3, (1,), {})]
CONV2 = [((2, 3, 5, 6), 4, (3, 3), {}),
         ((1, 2, 8, 5), 2, (3, 2), dict(stride=(2, 1), padding=(1, 2), dilation=(2, 1))),
         ((2, 4, 5, 4), 6, (2, 3), dict(stride=(1, 2), padding=(1, 1), groups=2)),
         ((1, 3, 7, 6), 3, (3, 3), dict(padding=(2, 1), dilation=(2, 2), groups=3)),
         ((3, 2, 4, 4), 5, (1, 1), dict(stride=2))]
CONV3 = [((2, 2, 4, 3, 5), 3, (2, 2, 3), dict(stride=(1, 1, 2), padding=(1, 0, 1))),
         ((1, 4, 3, 3, 3), 4, (2, 1, 2), dict(groups=2))]
CONVS = {1: (CONV1, F.conv1d, F.conv_transpose1d), 2: (CONV2, F.conv2d, F.conv_transpose2d),
         3: (CONV3, F.conv3d, F.conv_transpose3d)}
for space, (configurations, f, _) in CONVS.items():
    for i, (x, out, kernel, o) in enumerate(configurations):
        w = (out, x[1] // o.get("groups", 1)) + kernel
        case(f"conv{space}d_{i}", [x, w, (out,)], lambda x, w, b, f=f, o=o: f(x, w, b, **o))
TURNED1 = [((2, 3, 5), 4, (3,), dict(stride=2, padding=1, output_padding=1)),
           ((1, 4, 4), 6, (2,), dict(stride=3, dilation=2, groups=2, output_padding=2))]
TURNED2 = [((2, 3, 4, 3), 4, (3, 3), dict(stride=2, padding=1, output_padding=1)),
           ((1, 4, 3, 4), 6, (2, 3), dict(stride=(2, 3), padding=(1, 0), output_padding=(0, 2), groups=2,
                                          dilation=(2, 1))),
           ((2, 2, 3, 3), 3, (3, 2), {})]
for space, configurations in ((1, TURNED1), (2, TURNED2)):
    for i, (x, out, kernel, o) in enumerate(configurations):
        w = (x[1], out // o.get("groups", 1)) + kernel
        case(f"conv_transpose{space}d_{i}", [x, w, (out,)],
             lambda x, w, b, f=CONVS[space][2], o=o: f(x, w, b, **o))
case("max_pool1d", [(2, 3, 9)], lambda x: F.max_pool1d(x, 3, 2, 1))
case("max_pool2d_0", [(2, 2, 6, 5)], lambda x: F.max_pool2d(x, 2))
case("max_pool2d_1", [(1, 3, 7, 8)], lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 1)))
case("max_pool2d_2", [(1, 2, 9, 7)], lambda x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), (3, 2)))
case("max_pool2d_ceil", [(1, 2, 6, 5)], lambda x: F.max_pool2d(x, 3, 2, 0, ceil_mode=True))
case("max_pool3d", [(1, 2, 4, 5, 4)], lambda x: F.max_pool3d(x, 2, (1, 2, 2), (0, 1, 0)))
case("avg_pool1d", [(2, 3, 9)], lambda x: F.avg_pool1d(x, 3, 2, 1))
case("avg_pool2d_0", [(2, 2, 6, 5)], lambda x: F.avg_pool2d(x, 2))
case("avg_pool2d_1", [(1, 3, 7, 8)], lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 1)))
case("avg_pool2d_2", [(1, 3, 7, 8)], lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 1), count_include_pad=False))
case("avg_pool2d_ceil", [(1, 2, 6, 5)],
     lambda x: F.avg_pool2d(x, 3, 2, 0, ceil_mode=True, count_include_pad=False))
case("global_max_pool", [(2, 3, 4, 5)], lambda x: F.adaptive_max_pool2d(x, 1))
case("global_avg_pool", [(2, 3, 4, 5)], lambda x: F.adaptive_avg_pool2d(x, 1))
QKV = [(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 3)]
case("attention", QKV, F.scaled_dot_product_attention)
case("attention_bool", QKV, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask((5, 6), 9)))
case("attention_added", QKV, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, seq((3, 5, 6), 9)))
case("attention_causal", QKV, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
case("embedding", [(7, 3)], lambda w: F.embedding(labels((4, 5), 7, 9), w))
CE = {"mean": {}, "sum": dict(reduction="sum"), "none": dict(reduction="none"),
      "weights": dict(weight=part((4,), 8)), "ignore": dict(ignore_index=2),
      "smooth": dict(label_smoothing=0.3),
      "all": dict(weight=part((4,), 8), ignore_index=2, label_smoothing=0.3),
      "all_sum": dict(weight=part((4,), 8), ignore_index=2, label_smoothing=0.3, reduction="sum"),
      "all_none": dict(weight=part((4,), 8), ignore_index=2, label_smoothing=0.3, reduction="none")}
for name, o in CE.items():
    case(f"cross_entropy_{name}", [(5, 4)], lambda x, o=o: F.cross_entropy(x, labels((5,), 4, 9), **o))
    case(f"cross_entropy_space_{name}", [(2, 4, 3)],
         lambda x, o=o: F.cross_entropy(x, labels((2, 3), 4, 9), **o))
case("cross_entropy_soft", [(5, 4)], lambda x: F.cross_entropy(x, shares((5, 4), 9)))
case("cross_entropy_soft_none", [(2, 4, 3)],
     lambda x: F.cross_entropy(x, shares((2, 4, 3), 9), reduction="none"))
case("nll", [(5, 4)], lambda x: F.nll_loss(x, labels((5,), 4, 9)))
case("nll_weights", [(2, 4, 3)],
     lambda x: F.nll_loss(x, labels((2, 3), 4, 9), weight=part((4,), 8), ignore_index=1))
for how in ("mean", "sum", "none"):
    r = dict(reduction=how)
    case(f"bce_logits_{how}", [(3, 5)],
         lambda x, r=r: F.binary_cross_entropy_with_logits(x, part((3, 5), 9), **r))
    case(f"bce_weighed_{how}", [(3, 5)], lambda x, r=r: F.binary_cross_entropy_with_logits(
        x, part((3, 5), 9), pos_weight=part((5,), 8), **r))
    case(f"bce_{how}", [(3, 5)],
         lambda x, r=r: F.binary_cross_entropy((x + 2) / 4, part((3, 5), 9), **r))
    case(f"mse_{how}", [(3, 5), (3, 5)], lambda x, t, r=r: F.mse_loss(x, t, **r))
    case(f"l1_{how}", [(3, 5), (3, 5)], lambda x, t, r=r: F.l1_loss(x, t, **r))
    case(f"huber_{how}", [(3, 5), (3, 5)], lambda x, t, r=r: F.huber_loss(x, t, delta=0.7, **r))
    case(f"smooth_l1_{how}", [(3, 5), (3, 5)], lambda x, t, r=r: F.smooth_l1_loss(x, t, beta=0.6, **r))
    case(f"kl_{how}", [(3, 5)], lambda x, r=r: F.kl_div(x, part((3, 5), 9), **r))


def braces(numbers):
    return "{" + ", ".join(numbers) + "}"


def weighed(t, seed):
    return repr(float((t * seq(t.shape, seed)).sum()))


print("/* Made by tests/network_facts.py with PyTorch " + torch.__version__.split("+")[0] + ". */")
for name, shapes, f in CASES:
    x = [seq(s, i + 1).requires_grad_() for i, s in enumerate(shapes)]
    y = f(*x)
    g = torch.autograd.grad(y, x, seq(y.shape, 20))
    inputs = braces(braces([str(len(s)), braces(map(str, s))]) for s in shapes)
    shape = braces([str(y.dim()), braces(map(str, y.shape or [0]))])
    print(f'    {{"{name}", {name}, {len(shapes)}, {inputs}, {shape},'
          f" {weighed(y.detach(), 21)}, {braces(weighed(d, 22) for d in g)}}},")
