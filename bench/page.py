#!/usr/bin/env python3
"""Rewrites one block of docs/performance.md: the figures, or the comparison with peers, of the CPU that this runs on.

    bench/page.py figures|peers RESULTS.json PAGE [--cpu NAME] [--date DATE] [--compiler WORDS] [--command WORDS]

A block begins with `<!-- figures: CPU -->` and ends with `<!-- end -->`. All other blocks, and all text outside, stay
as they are; a CPU that has no block yet gets one at the page's end.
"""
import argparse
import datetime
import json
import math
import os
import subprocess
import sys

END = "<!-- end -->"
COMMANDS = {"figures": "make bench", "peers": "make bench-peers"}
TITLES = {"figures": "Figures", "peers": "Beside other libraries"}
PRODUCTS = ("f32", "f64")
F32_PEAK_ROWS = ("maxsim-f32-cache", "threads-maxsim-cache")


def cpu_name():
    """The model's name; with family and model, for names such as 'AMD EPYC' say little."""
    facts = {}
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = facts.get("model name") or os.uname().machine
    family = facts.get("cpu family")
    return f"{name}, family {family}, model {facts.get('model')}" if family else name


def compiler_name():
    command = os.environ.get("EINC_CC") or os.environ.get("CC") or "cc"
    return subprocess.run([command, "--version"], capture_output=True, text=True).stdout.split("\n")[0]


def percent(share):
    return f"{100 * share:.1f} %"


def seconds_words(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


# ---- figures

def figure_row(row):
    goal = "–" if row["goal"] is None else percent(row["goal"])
    if row["absent"]:
        return [row["work"], goal, "not measured here", "", "", ""]
    if "share" not in row or "failure" in row:
        return [row["work"], goal, "failed: " + row["failure"], "", "", ""]
    met = "" if row["share"] >= row["goal"] else f" ({row['share'] / row['goal']:.2f} of the goal)"
    bound = row["bounded_by"] + (f", {row['speedup']:.2f} × one thread" if row["speedup_row"] else "")
    share = percent(row["share"]) + met
    return [row["work"], goal, share, percent(row["median"]), bound, seconds_words(row["seconds"])]


def product_summary(rows, dtype):
    """The 48 contractions as one row; how many are missing from the mean stands beside it."""
    mine = [row for row in rows if row["name"].startswith(f"tccg-{dtype}-")]
    good = [row["share"] for row in mine if "share" in row and "failure" not in row]
    if not mine:
        return []
    goal = mine[0]["goal"]
    mean = percent(geometric_mean(good)) if good else "none"
    note = f"geometric mean of {len(good)}" + (f"; {len(mine) - len(good)} failed" if len(good) < len(mine) else "")
    spread = f"{percent(min(good))} to {percent(max(good))}" if good else ""
    return [[f"the 48 contractions of TCCG, {dtype}", percent(goal), f"{mean} ({note})", spread, "roofline", ""]]


def product_table(rows):
    shares = {row["name"]: row for row in rows if row["name"].startswith("tccg-")}
    words = list(dict.fromkeys(name.split("-", 2)[2] for name in shares))
    if not words:
        return []

    def cell(dtype, word):
        row = shares.get(f"tccg-{dtype}-{word}")
        if not row or "failure" in row:
            return row["failure"] if row else ""
        return f"{percent(row['share'])} of {row['bounded_by']}"
    body = [["`" + word + "`"] + [cell(dtype, word) for dtype in PRODUCTS] for word in words]
    title = "Each contraction of TCCG (C-A-B, the first index of each with stride 1):"
    return ["", title, ""] + table(["", *PRODUCTS], body)


def peaks(rows):
    """The best that any row saw, by thread count."""
    found = []
    for threads in sorted({row["threads"] for row in rows if "failure" not in row}):
        mine = [row for row in rows if row["threads"] == threads and "share" in row and "failure" not in row]
        streams = [row.get("read_bytes_per_second", 0) for row in mine if "stream" in row["name"]]
        f32 = [row["peak_flops_per_second"] for row in mine if row["name"] in F32_PEAK_ROWS]
        parts = [f"f32 multiply-adds {max(f32) / 1e9:.0f} Gflop/s"] if f32 else []
        parts += [f"1 GiB read at {max(streams) / 1e9:.1f} GB/s"] if any(streams) else []
        if parts:
            found.append(f"{threads} thread{'s' * (threads > 1)}: " + ", ".join(parts))
    return "; ".join(found)


def figures(rows):
    plain = [figure_row(row) for row in rows if not row["name"].startswith("tccg-")]
    for dtype in PRODUCTS:
        plain += product_summary(rows, dtype)
    body = [f"Peaks seen: {peaks(rows)}.", ""] if peaks(rows) else []
    return body + table(["work", "goal", "measured", "median", "bounded by", "time"], plain) + product_table(rows)


# ---- peers

def peer_cell(peer):
    if "failure" in peer:
        return peer["failure"]
    return f"{seconds_words(peer['seconds'])}, {peer['ratio']:.2f} ×"


def peers(results):
    head = ["work", "einc", *results["peers"]]

    def own(row):
        return f"{seconds_words(row['seconds'])} ({percent(row['share'])})" if "seconds" in row else row["failure"]
    body = [[row["work"], own(row)]
            + [peer_cell(row["peers"][name]) if name in row["peers"] else "–" for name in results["peers"]]
            for row in results["rows"]]
    versions = [f"- {name}: {words}" for name, words in results["versions"].items()]
    ahead = []
    for dtype in PRODUCTS:
        mine = [row for row in results["rows"] if row["name"].startswith(f"tccg-{dtype}-") and "seconds" in row]
        for name in results["peers"]:
            ratios = [row["peers"][name]["ratio"] for row in mine if "ratio" in row["peers"].get(name, {})]
            if ratios:
                ahead.append(f"- TCCG {dtype}: ahead of {name} on {sum(r > 1 for r in ratios)} of {len(ratios)}, "
                             f"{geometric_mean(ratios):.2f} × in the geometric mean")
    return versions + [""] + table(head, body) + ([""] + ahead if ahead else [])


# ---- the page

def make_block(kind, results, cpu, date, compiler, command, load):
    body = figures(results) if kind == "figures" else peers(results)
    return [f"<!-- {kind}: {cpu} -->", f"### {TITLES[kind]}: {cpu}", "",
            f"{date}, {compiler}, by `{command}`; load average {load} on {os.cpu_count()} cores, this run included.",
            "", *body, END]


def replace(page, kind, cpu, block):
    """The page's lines with this block in the place of the old one."""
    first = f"<!-- {kind}: {cpu} -->"
    if first not in page:
        return page + [""] * (bool(page) and page[-1] != "") + block
    begin = page.index(first)
    return page[:begin] + block + page[page.index(END, begin) + 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=COMMANDS)
    parser.add_argument("results")
    parser.add_argument("page")
    parser.add_argument("--cpu", default=cpu_name())
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--compiler", default=None)
    parser.add_argument("--command", help="where the results are not those of all rows")
    parser.add_argument("--load", default=f"{os.getloadavg()[2]:.1f}", help="of the last 15 minutes")
    given = parser.parse_args()
    with open(given.results) as file:
        results = json.load(file)
    with open(given.page) as file:
        page = file.read().split("\n")
    while page and not page[-1]:
        page.pop()
    block = make_block(given.kind, results, given.cpu, given.date, given.compiler or compiler_name(),
                       given.command or COMMANDS[given.kind], given.load)
    with open(given.page, "w") as file:
        file.write("\n".join(replace(page, given.kind, given.cpu, block)) + "\n")
    print(f"{given.page}: {given.kind} of {given.cpu}, {len(block)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
