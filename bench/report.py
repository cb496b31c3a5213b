"""Makes docs/bench.md and docs/bench/*.svg from the JSON lines of ct-bench and bench/peers: a table
and a picture for each family. Usage: report.py FOLDER_OF_JSON [DOCS_FOLDER]"""

import glob
import json
import math
import os
import platform
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

FAMILIES = {
    "matmul": "Matrix products",
    "vmath": "Vector math",
    "stream": "Elementwise, over flat memory",
    "layout": "Broadcasts, transposed operands, transpose copies",
    "reduce": "Reductions, sorting, gathering",
    "network": "Network ops, on a tape",
    "rows": "Row kernels: softmax, layer norm, cross entropy",
    "optim": "Optimiser steps",
    "dense": "Dense layers",
    "train": "Training steps",
    "small": "Small tensors",
    "tensor": "The tensor layer",
}
# Fixed for all pictures; the order is that of columns and bars.
SIDES = {
    "limit": ("the machine's limit", "#3b3b3b"),
    "plain": ("plain C loop", "#9a9a9a"),
    "torch": ("PyTorch", "#d1495b"),
    "numpy": ("NumPy", "#3d7ab8"),
    "jax": ("JAX", "#8e6bbf"),
    "openblas": ("OpenBLAS", "#2f9e6e"),
    "blis": ("BLIS", "#8cc152"),
    "onednn": ("oneDNN", "#f0a202"),
    "libxsmm": ("libxsmm", "#c77dba"),
    "mkl": ("MKL", "#17a2b8"),
    "libmvec": ("glibc libmvec", "#2f9e6e"),
    "mkl vml": ("MKL VML", "#17a2b8"),
    "ggml": ("ggml", "#2f9e6e"),
    "kann": ("KANN", "#f0a202"),
}
LIMITS = ("FMA peak", "read", "copy")


def side_of(against):
    if against.startswith(LIMITS):
        return "limit"
    return {"plain loop": "plain"}.get(against, against)


class Results:
    """What was measured: by (threads, isa, row) a line for each side; later files win."""

    def __init__(self, folder):
        self.rows, self.machines, self.versions = {}, {}, {}
        for path in sorted(glob.glob(f"{folder}/*.json"), key=os.path.getmtime):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    self.take(json.loads(line))

    def take(self, line):
        if "cpu" in line:
            self.machines[line["isa"]] = line
        elif "versions" in line:
            self.versions.setdefault(line["isa"], {}).update(line["versions"])
        else:
            key = (line["threads"], line["isa"], line["row"])
            self.rows.setdefault(key, {})[side_of(line["against"])] = line

    def family(self, name, threads, isa):
        return {row: sides for (t, i, row), sides in self.rows.items()
                if (t, i) == (threads, isa) and any_line(sides)["family"] == name}

    def families(self, threads, isa):
        found = {any_line(sides)["family"] for (t, i, _), sides in self.rows.items()
                 if (t, i) == (threads, isa)}
        return [f for f in FAMILIES if f in found] + sorted(found - set(FAMILIES))


def any_line(sides):
    return next(iter(sides.values()))


# --- text

def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def rate_text(line):
    return f"{line['gflop_s']:.4g} GFLOP/s" if line["flops"] else f"{line['gb_s']:.4g} GB/s"


def ratio_text(line):
    """The ratio with its quartiles; bold and with the bar where it is below that."""
    text = f"{line['ratio']:.2f}"
    spread = f" ({line['low']:.2f}–{line['high']:.2f})"
    if line["bar"] and line["ratio"] < line["bar"]:
        return f"**{text} below {line['bar']:g}**{spread}"
    return text + spread


def short_name(line):
    return line["row"].split("/", 1)[1].rsplit(" ", 1)[0]


def present(rows):
    return [s for s in SIDES if any(s in sides for sides in rows.values())]


def table(rows):
    sides_shown = present(rows)
    head = ["row", "type", "ours", "rate"] + [SIDES[s][0] for s in sides_shown]
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * (len(head) - 2)]
    for sides in rows.values():
        first = any_line(sides)
        cells = [short_name(first), first["dtype"], time_text(first["ours_ns"]), rate_text(first)]
        cells += [ratio_text(sides[s]) if s in sides else "" for s in sides_shown]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bars_of(rows):
    """(held, all) over the bars of these rows."""
    lines = [l for sides in rows.values() for l in sides.values() if l["bar"]]
    return sum(l["ratio"] >= l["bar"] for l in lines), len(lines)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(results, isa):
    """A line for each family: bars held, rows ahead of each side."""
    names = [s for s in SIDES if s not in ("limit", "plain")]
    lines = ["| family | rows | bars held | share of the limit, median | " +
             " | ".join(SIDES[s][0] for s in names) + " |",
             "|---|---:|---:|---:|" + "---:|" * len(names)]
    for family in results.families(1, isa):
        rows = results.family(family, 1, isa)
        held, bars = bars_of(rows)
        limits = sorted(s["limit"]["ratio"] for s in rows.values() if "limit" in s)
        cells = [f"[{FAMILIES.get(family, family)}](#{anchor(family)})", str(len(rows)),
                 f"{held} of {bars}" if bars else "",
                 f"{limits[len(limits) // 2]:.2f}" if limits else ""]
        for side in names:
            ratios = [s[side]["ratio"] for s in rows.values() if side in s]
            ahead = sum(r >= 1 for r in ratios)
            cells.append(f"{ahead} of {len(ratios)}, {geometric_mean(ratios):.2f} ×" if ratios else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def anchor(family):
    text = FAMILIES.get(family, family).lower()
    return "".join(c for c in text.replace(" ", "-") if c.isalnum() or c == "-")


def below(results, isa):
    lines = []
    for family in results.families(1, isa):
        for sides in results.family(family, 1, isa).values():
            for side, line in sides.items():
                if line["bar"] and line["ratio"] < line["bar"]:
                    lines.append(f"| {line['row']} | {SIDES.get(side, (side,))[0]} | "
                                 f"{line['ratio']:.2f} ({line['low']:.2f}–{line['high']:.2f}) | "
                                 f"{line['bar']:g} |")
    if not lines:
        return "Every bar was held."
    return "| row | side | ratio | bar |\n|---|---|---:|---:|\n" + "\n".join(lines)


# --- pictures

UNIT = 0.125  # inches of a bar


def places(rows, names):
    """For each name its sides, in order, and where its bars begin; and where all end."""
    at, found = 0.5, {}
    for name in names:
        sides = [s for s in SIDES if any(s in r for r in rows.values()
                                         if short_name(any_line(r)) == name)]
        found[name] = (sides, at)
        at += len(sides) + 1
    return found, at - 0.5


def picture(rows, title, path):
    """Bars from 1, to the right where ours is faster; a panel for each type."""
    rows = {r: s for r, s in rows.items() if set(s) & set(SIDES)}
    types = [t for t in ("f32", "f64") if any(any_line(s)["dtype"] == t for s in rows.values())]
    names = list(dict.fromkeys(short_name(any_line(s)) for s in rows.values()))
    if not rows:
        return False
    shown = present(rows)
    where, end = places(rows, names)
    legend_rows = math.ceil(len(shown) / 6)
    height = 0.85 + 0.2 * legend_rows + UNIT * end
    figure, axes = plt.subplots(1, len(types), sharey=True, squeeze=False,
                                figsize=(3.2 + 3.9 * len(types), height))
    for axis, kind in zip(axes[0], types):
        for sides in rows.values():
            first = any_line(sides)
            order, start = where[short_name(first)]
            for side in sides if first["dtype"] == kind else ():
                if side in order:
                    draw_bar(axis, start + order.index(side), sides[side], SIDES[side][1])
        dress(axis, kind, where, end)
    handles = [plt.Rectangle((0, 0), 1, 1, color=SIDES[s][1]) for s in shown]
    figure.legend(handles, [SIDES[s][0] for s in shown], loc="lower center", frameon=False,
                  ncols=min(len(shown), 6), fontsize=8)
    figure.suptitle(f"{title}: times the other side's speed", fontsize=10, y=1 - 0.08 / height,
                    va="top")
    figure.tight_layout(rect=(0, 0.2 * legend_rows / height, 1, 1 - 0.2 / height))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True


def draw_bar(axis, y, line, colour):
    ratio = line["ratio"]
    axis.barh(y + 0.5, ratio - 1, left=1, height=0.86, color=colour, zorder=2)
    axis.plot([line["low"], line["high"]], [y + 0.5] * 2, color="black", lw=0.6, zorder=3)
    if line["bar"]:
        axis.plot([line["bar"]] * 2, [y, y + 1], color="black", lw=1.3, zorder=4)
    right = ratio >= 1
    axis.annotate(f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}",
                  (max(line["high"], 1) if right else min(line["low"], 1), y + 0.5),
                  xytext=(3 if right else -3, 0), textcoords="offset points", fontsize=6,
                  va="center_baseline", ha="left" if right else "right", zorder=5)


def dress(axis, kind, where, end):
    axis.set_xscale("log")
    low, high = axis.get_xlim()
    axis.set_xlim(min(low, 0.7) / 1.15, max(high, 1.6) * 1.35)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)
             if axis.get_xlim()[0] <= t <= axis.get_xlim()[1]]
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=7)
    axis.minorticks_off()
    axis.axvline(1, color="black", lw=0.8, zorder=1)
    axis.grid(axis="x", color="#dddddd", lw=0.5, zorder=0.5)
    for i, (sides, start) in enumerate(where.values()):
        if i % 2:
            axis.axhspan(start - 0.5, start + len(sides) + 0.5, color="#f3f3f3", zorder=0)
    axis.set_yticks([start + len(sides) / 2 for sides, start in where.values()], list(where),
                    fontsize=7)
    axis.set_ylim(end, 0)
    axis.set_title(kind, fontsize=9)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)


# --- the page

HOW = """Every number is a ratio taken in one run: ours and the other side take turns, a side runs for at least 200 µs
at a time, the median of 15 to 31 rounds counts, and the quartiles stand in brackets. **Above 1, ours is faster**: 2
means half the time. A bold number is below the bar that this project has set itself; black ticks in the pictures are those
bars. One thread, unless it says otherwise; times are of a shared virtual machine and say little, ratios say more.

* *The machine's limit* is measured in the same run: fused multiply-adds in independent chains; reading as many bytes as the row
  does, from memory of that size; or moving them, half read and half written, by the fastest of `memcpy`, a vector loop
  and non-temporal stores. So 0.95 means 95 % of what this machine does at best at that size.
* *Plain C loop* is the row written by hand and compiled with -O3 for AVX-512.
* A Python library is called as its users call it, from Python, with outputs reused where it can and the fastest of the ways that it
  has; the call itself (0.1 µs NumPy, 1 µs PyTorch, 6 µs JAX) is part of what they pay, so rows of up to 1,000 items compare calls
  more than loops. Ours, the BLAS libraries and libmvec are timed by loops in C. Answers are compared in the same run.
* Ours gives the same bits for every instruction set, number of threads, compiler and layout; no peer does.
"""

COMMANDS = """```
make bench                          # limits and plain loops, then two threads against one; ROWS=gemm selects
make bench-peers                    # beside the other libraries; COTANGENT_PEERS is where their Python lives
CT_ISA=avx2 make bench bench-peers  # the AVX2 column: ours and the peers held to AVX2
make bench-report                   # this page
make tune                           # candidates for the tiles and blocks of another machine
```
"""


def machine_text(results, isa):
    m = results.machines.get(isa)
    if not m:
        return ""
    caches = []
    for index in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        def read(name):
            with open(f"{index}/{name}", encoding="ascii") as file:
                return file.read().strip()
        if read("type") != "Instruction":
            caches.append(f"L{read('level')} {read('size')}")
    lines = [f"{m['cpu']}, {os.cpu_count()} cores, a virtual machine; {', '.join(caches)}; Linux "
             f"{platform.release()}; gcc {m['compiler']}; instruction set `{isa}`.", "",
             "| limit, one thread | |", "|---|---:|",
             f"| fused multiply-adds f32 / f64 | {m['fma_f32']:.0f} / {m['fma_f64']:.0f} GFLOP/s |"]
    lines += [f"| read / copy, {f['name']} | {f['read']:.1f} / {f['copy']:.1f} GB/s |"
              for f in m["footprints"]]
    return "\n".join(lines)


def avx2_section(results):
    rows = {r: s for (t, i, r), s in results.rows.items() if (t, i) == (1, "avx2")}
    if not rows:
        return ""
    text = ["## AVX2", "", "The same rows with `CT_ISA=avx2`, peers held to AVX2 as well.", "",
            machine_text(results, "avx2"), ""]
    for family in results.families(1, "avx2"):
        mine = results.family(family, 1, "avx2")
        if not any(set(s) - {"(alone)"} for s in mine.values()):
            continue
        text += [f"### {FAMILIES.get(family, family)}, AVX2", "", table(mine), ""]
    return "\n".join(text)


def two_threads(results, isa):
    rows = {r: s for (t, i, r), s in results.rows.items() if (t, i) == (2, isa)}
    if not rows:
        return ""
    lines = ["## Two threads", "",
             "*Scaling* is two threads against one, in two processes that take turns; other columns are both sides "
             "with two threads. The machine has two cores, which other guests share: where a neighbour "
             "is busy nothing scales.", ""]
    shown = [s for s in SIDES if any(s in sides for sides in rows.values()) and s != "limit"]
    head = ["row", "type", "scaling"] + [SIDES[s][0] for s in shown]
    lines += ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * (len(head) - 2)]
    for sides in rows.values():
        first = any_line(sides)
        cells = [first["row"].rsplit(" ", 1)[0], first["dtype"],
                 ratio_text(sides["one thread"]) if "one thread" in sides else ""]
        cells += [ratio_text(sides[s]) if s in sides else "" for s in shown]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page(results, docs):
    isa = "avx512" if any(i == "avx512" for _, i, _ in results.rows) else \
        next(iter(results.rows))[1]
    text = ["# Speed, in ratios", "",
            "<!-- Made by bench/report.py (`make bench-report`) from a run; notes are in docs/bench/notes.md. -->",
            "", HOW, COMMANDS, "## The machine", "", machine_text(results, isa), "", "Peers:", ""]
    text += [f"* {' '.join(version.split())}" for version in results.versions.get(isa, {}).values()]
    text += ["", "## In short", "",
             "Of each library: in how many rows ours is ahead, and the geometric mean of the ratios.", "",
             summary(results, isa), "", "Rows below their bar:", "", below(results, isa), ""]
    notes = f"{docs}/bench/notes.md"
    if os.path.exists(notes):
        with open(notes, encoding="utf-8") as file:
            text += [file.read()]
    for family in results.families(1, isa):
        rows = results.family(family, 1, isa)
        title = FAMILIES.get(family, family)
        text += [f"## {title}", ""]
        if picture(rows, title, f"{docs}/bench/{family}.svg"):
            text += [f"![{title}](bench/{family}.svg)", ""]
        text += [table(rows), ""]
    text += [two_threads(results, isa), avx2_section(results)]
    return "\n".join(text).rstrip() + "\n"


def main():
    docs = sys.argv[2] if len(sys.argv) > 2 else "docs"
    os.makedirs(f"{docs}/bench", exist_ok=True)
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cotangent",
                         "font.family": "sans-serif"})
    results = Results(sys.argv[1])
    if not results.rows:
        sys.exit(f"no results in {sys.argv[1]}: run `make bench bench-peers` first")
    with open(f"{docs}/bench.md", "w", encoding="utf-8") as file:
        file.write(page(results, docs))


main()
