"""Measures the rows beside other libraries in one process, sides taking turns: our loop in C, C
libraries by loops in C, Python libraries as their users call them (the overhead of the call is part
of what they pay). Usage: peers.py ROWS_LIBRARY C_PEERS_LIBRARY JSON_FILE [WORD...]"""

import gc
import itertools
import json
import os
import re
import statistics
import sys
import time

import numpy as np

import of_c
import rows

ROUNDS, MOST_ROUNDS, SIDE, ROW = 15, 31, 250e-6, 1.0
WARMED = 16 << 20  # beyond, nothing of a side survives in the cache


class View:
    """What the formulas see of an opened row."""

    def __init__(self, row, isa):
        self.row, self.isa = row, isa
        self.op, self.form, self.dtype = (row.about[k] for k in ("op", "form", "dtype"))
        self.size, self.operands = row.about["size"], row.operands
        self.is_new = "new" in self.form
        self.compare = True

    def output(self):
        return self.row.output()

    def like_output(self, dtype=None):
        out = self.row.output()
        return np.zeros(out.shape, dtype or out.dtype)

    def axis(self, otherwise=None):
        found = re.search(r"axis (-?\d)", self.form)
        return int(found.group(1)) if found else otherwise

    def ddof(self):
        return 1 if "sample" in self.form else 0

    def numbers(self, otherwise):
        found = [float(x) for x in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", self.form)]
        return found[:2] if len(found) >= 2 else otherwise

    def bounds(self):
        return self.numbers([-0.5, 0.5])

    def factors(self):
        return self.numbers([2.0, 3.0])


class Timed:
    """A Python callable, timed as timeit does."""

    def __init__(self, f):
        self.f = f

    def __call__(self):
        return self.f()

    def time(self, repeat):
        f = self.f
        start = time.perf_counter()
        for _ in itertools.repeat(None, repeat):
            f()
        return (time.perf_counter() - start) / repeat

    def close(self):
        pass


def repeats(side):
    """How often a side is run at a time."""
    n = 1
    while True:
        once = side.time(n)
        if once * n >= SIDE:
            return n
        n = max(2 * n, int(1.2 * SIDE / max(once, 1e-9)))


def fastest(runs):
    """Of several ways the fastest, by the least of a few tries."""
    if len(runs) == 1:
        return runs[0]
    best = min(runs, key=lambda r: min(r.time(repeats(r)) for _ in range(5)))
    for r in runs:
        if r is not best:
            r.close()
    return best


def as_array(answer):
    if hasattr(answer, "detach"):
        answer = answer.detach().numpy()
    return np.asarray(answer)


def distance(ours, theirs):
    ours, theirs = (np.asarray(a).reshape(-1) for a in (ours, theirs))
    if ours.shape != theirs.shape:
        return float("inf")
    if ours.dtype == bool:
        return float(np.any(ours != theirs))
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0) or 1.0
    return float(np.max(np.where(same, 0, np.abs(ours - theirs)), initial=0) / scale)


def sides_of(view, formulas, c):
    """{peer: runs} for a row."""
    found = {}
    if view.op in ("gemm", "matmul", "gemv") and not view.is_new:
        found.update(c.matmul(view))
    if view.row.about["family"] == "vmath":
        found.update(c.vmath(view))
    if view.op == "train_step" and view.threads == 1:
        found.update(c.training.steps(view))
    for name, module in formulas.items():
        if view.op not in module.FORMULAS:
            continue
        made = module.FORMULAS[view.op](view)
        found[name] = [Timed(f) for f in (made if isinstance(made, list) else [made])]
    return found


def take_turns(ours, others, heavy):
    times = {name: [] for name in ["ours", *others]}
    sides = [("ours", ours, repeats(ours))] + [(n, s, repeats(s)) for n, s in others.items()]
    start = time.perf_counter()
    for turn in range(MOST_ROUNDS):
        if turn >= ROUNDS and time.perf_counter() - start > ROW:
            break
        for name, side, repeat in sides if turn % 2 == 0 else reversed(sides):
            if not heavy:
                side.time(1)
            times[name].append(side.time(repeat))
    return times


def record(view, name, ours, theirs, off):
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    about = view.row.about
    mine = statistics.median(ours)
    bar = re.search(rf"(?:^| ){re.escape(name)}:([\d.]+)", about["bars"])
    return {"row": about["row"], "family": about["family"], "op": about["op"],
            "form": about["form"], "dtype": about["dtype"], "size": about["size"],
            "threads": view.threads, "isa": view.isa, "against": name,
            "ours_ns": 1e9 * mine, "against_ns": 1e9 * statistics.median(theirs),
            "ratio": statistics.median(ratios), "low": ratios[len(ratios) // 4],
            "high": ratios[3 * len(ratios) // 4], "bar": float(bar.group(1)) if bar else 0,
            "off": off, "bytes": view.row.bytes, "flops": view.row.flops,
            "gb_s": 1e-9 * view.row.bytes / mine, "gflop_s": 1e-9 * view.row.flops / mine}


def measure(library, about, formulas, c, file):
    row = rows.Row(library, about)
    view = View(row, library.isa())
    view.threads = library.c.ct_rows_threads()
    others, off = {}, {}
    for name, runs in sides_of(view, formulas, c).items():
        try:
            others[name] = fastest(runs)
            answer = others[name]()
            off[name] = None
            if view.compare and answer is not None and row.output() is not None:
                off[name] = distance(row.output(), as_array(answer))
                if off[name] > max(about["tolerance"], 2e-5 if view.dtype == "f32" else 1e-11):
                    print(f"{about['row']:44} {name:10} ANSWERS DIFFER by {off[name]:.2g}")
        except Exception as fault:  # a peer that cannot is no peer here
            others.pop(name, None)
            print(f"{about['row']:44} {name:10} cannot: {fault}")
    if others:
        times = take_turns(row, others, row.bytes > WARMED)
        for name in others:
            r = record(view, name, times["ours"], times[name], off[name])
            verdict = "" if not r["bar"] else "holds" if r["ratio"] >= r["bar"] else "FAILS"
            print(f"{r['row']:44} {name:10} {r['ours_ns']:12.1f} {r['against_ns']:12.1f} "
                  f"{r['ratio']:7.2f} ({r['low']:.2f}..{r['high']:.2f}) {r['bar'] or ''} {verdict}",
                  flush=True)
            file.write(json.dumps(r) + "\n")
    for side in others.values():
        side.close()
    row.close()


def modules(threads):
    """The libraries that are installed, set to a number of threads."""
    found = {"numpy": __import__("of_numpy")}
    try:
        import torch
        torch.set_num_threads(threads)
        found["torch"] = __import__("of_torch")
    except ImportError:
        pass
    if threads == 1:
        try:
            import jax
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_enable_x64", True)
            jax.config.update("jax_cpu_enable_async_dispatch", False)
            found["jax"] = __import__("of_jax")
        except ImportError:
            pass
    wanted = os.environ.get("PEERS")
    return {n: m for n, m in found.items() if not wanted or n in wanted.split()}


def main():
    gc.disable()
    library = rows.Library(sys.argv[1])
    threads = library.c.ct_rows_threads()
    c = of_c.Library(sys.argv[2], os.environ.get("MKL_FOLDER", ""))
    c.training = of_c.Training(c, sys.argv[2].replace("libct-peers", "libct-ggml"))
    c.versions |= c.training.versions
    formulas = modules(threads)
    versions = {n: m.version() for n, m in formulas.items()} | c.versions
    words = sys.argv[4:]
    print(f"ours: {library.isa()}, {threads} thread(s); ratio: times the peer's speed")
    for name, text in versions.items():
        print(f"{name}: {text}")
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(json.dumps({"versions": versions, "isa": library.isa(), "threads": threads}) + "\n")
        for about in library.rows():
            if words and not any(w in about["row"] for w in words) or threads > 1 and not about["two"]:
                continue
            gradients = about["op"] in getattr(formulas.get("torch"), "NEEDS_GRADIENTS", ())
            if "torch" in formulas and not gradients:
                import torch
                with torch.inference_mode():
                    measure(library, about, formulas, c, file)
            else:
                measure(library, about, formulas, c, file)


main()
