#!/usr/bin/env python3
"""The benchmarks' own parts, in less than 20 seconds: rows run and their results are numpy's, a share that no machine
can reach fails the run, and docs/performance.md is rewritten in its own block only."""
import json
import os
import subprocess
import sys
import tempfile

import numpy

BUILD = os.environ.get("BUILD", "build")
RUN = os.path.join(BUILD, "bench", "run")
checked = 0


def expect(right, words):
    global checked
    if not right:
        sys.exit(f"check_bench: {words}")
    checked += 1


def run(*words, **options):
    return subprocess.run([RUN, *words], capture_output=True, text=True, **options)


def check_rows(folder):
    """A row that is measured, one of two threads, and one of an instruction that few CPUs have."""
    path = os.path.join(folder, "figures.json")
    done = run("--rows", "small-4,threads-maxsim-cache,product-bf16-2048", "--seconds", "0.1", "--json", path)
    expect(done.returncode in (0, 5), f"the rows do not run: {done.stdout}{done.stderr}")
    with open(path) as file:
        rows = {row["name"]: row for row in json.load(file)}
    names = ["product-bf16-2048", "small-4", "threads-maxsim-cache"]
    expect(list(rows) == names, f"other rows than asked for: {list(rows)}")
    small = rows["small-4"]
    expect(small["seconds"] > 0 and small["rounds"] >= 3 and small["checked"] >= 4, f"not measured: {small}")
    share = small["bound_seconds"] / small["seconds"]
    expect(abs(share / small["share"] - 1) < 1e-3, f"the share is not the bound's: {small}")
    expect(rows["threads-maxsim-cache"]["speedup"] > 0, "no speed-up of two threads")
    amx = rows["product-bf16-2048"]
    expect(amx["absent"] or "share" in amx or "failure" in amx, f"AMX is neither here nor absent: {amx}")
    expect(run("--rows", "nonsense").returncode == 2, "a row that does not exist is taken")


def check_guard():
    done = run("--rows", "skinny-outer", "--seconds", "0.1", "--pretend", "0.01")
    expect(done.returncode == 5 and "measured wrong" in done.stdout, f"a share above 102 % is believed: {done.stdout}")


def check_result(folder):
    """What peers are given: the operands and a result that numpy agrees with."""
    answer = run("--serve", input=f"begin maxsim-f32-ragged {folder}\nround\nend\nround\n").stdout.split("\n")
    expect(answer[0].startswith("ready 1 "), f"not served: {answer}")
    expect(answer[1].startswith("round ") and float(answer[1].split()[1]) > 0, f"no round: {answer}")
    expect(answer[2] == "ended" and answer[3].startswith("failed"), f"a round of no row: {answer}")
    q, d, length, result = (numpy.load(os.path.join(folder, name + ".npy")) for name in ("0", "1", "2", "result"))
    expect(length.min() >= 8 and length.max() <= 300 and len(set(length)) > 50, "lengths are not spread over 8 to 300")
    for m in (0, 7, len(length) - 1):
        dots = numpy.einsum("ijk,nk->ijn", q.astype("f8"), d[m, :length[m]].astype("f8"), optimize=True)
        right = dots.max(axis=2).sum(axis=1)
        same = numpy.allclose(result[:, m], right, rtol=1e-5, atol=1e-4)
        expect(same, f"document {m}: {result[:, m]} is not {right}")


def check_peers(folder):
    """The comparison with numpy alone: its answer is right, and a wrong one has no time."""
    path = os.path.join(folder, "peers.json")
    subprocess.run([sys.executable, "bench/peers.py", "--run", RUN, "--rows", "small-4,maxsim-f32-ragged", "--seconds",
                    "0.1", "--json", path], check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        results = json.load(file)
    expect(len(results["rows"]) == 2 and "numpy" in results["peers"], f"not compared: {results}")
    for row in results["rows"]:
        ratio = row["peers"]["numpy"]["seconds"] / row["seconds"]
        expect(abs(row["peers"]["numpy"]["ratio"] / ratio - 1) < 1e-9, f"not the ratio of the times: {row}")
    sys.path.insert(0, "bench")
    import peers
    import peers_ways
    operands = [numpy.ones((4, 4), "f4"), numpy.ones(4, "f4")]
    problem = peers_ways.Problem({"name": "x", "expression": "ij,j->i"}, operands, numpy.full(4, 4, "f4"))
    expect(peers.find_way(peers_ways.numpy_ways, problem, 1, 0)[0] is not None, "a right peer has no time")
    problem.result[2] += 1
    found, failure = peers.find_way(peers_ways.numpy_ways, problem, 1, 0)
    expect(found is None and failure.startswith("wrong"), f"a wrong peer counts: {found}, {failure}")


def check_page(folder):
    results, page = os.path.join(folder, "results.json"), os.path.join(folder, "page.md")
    before = "# Title\n\ntext\n\n<!-- figures: CPU A -->\nold figures of A\n<!-- end -->\n\n"
    between = "between\n<!-- peers: CPU A -->\nold peers of A\n<!-- end -->\n"
    after = "<!-- figures: CPU AB -->\nfigures of AB\n<!-- end -->\ntext behind\n"
    row = {"name": "x", "work": "work x", "goal": 0.9, "threads": 1, "speedup_row": False, "absent": False,
           "share": 0.5, "median": 0.4, "seconds": 0.01, "bounded_by": "reading"}
    rows = [row, dict(row, name="y", work="work y", absent=True, failure="this CPU has no y"),
            dict(row, name="tccg-f32-ab-ac-cb", share=0.25, goal=0.85),
            dict(row, name="tccg-f32-abc-acd-db", share=1.0)]

    def rewrite(cpu, rows):
        with open(results, "w") as file:
            json.dump(rows, file)
        subprocess.run([sys.executable, "bench/page.py", "figures", results, page, "--cpu", cpu, "--date", "2001-02-03",
                        "--compiler", "cc 1", "--load", "1"], check=True, stdout=subprocess.DEVNULL)
        with open(page) as file:
            return file.read()

    with open(page, "w") as file:
        file.write(before + between + after)
    text = rewrite("CPU A", rows)
    rewritten = "old figures of A" not in text and "| work x | 90.0 % | 50.0 % (0.56 of the goal)" in text
    expect(rewritten, f"not rewritten:\n{text}")
    expect("| work y | 90.0 % | not measured here |" in text, f"an absent row is not said to be:\n{text}")
    expect("| 50.0 % (geometric mean of 2) |" in text, f"no geometric mean:\n{text}")
    kept = text.startswith(before.split("<!--")[0]) and text.endswith("\n\n" + between + after)
    expect(kept, f"other text changed:\n{text}")
    expect(rewrite("CPU A", rows) == text, "a second run of the same changes the page")
    more = rewrite("CPU C", rows[:1])
    added = more.startswith(text) and more.count("<!-- figures: CPU C -->") == 1
    expect(added, f"a new CPU has no block of its own:\n{more}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_page(folder)
        check_result(folder)
        check_peers(folder)
        check_rows(folder)
    check_guard()
    print(f"check_bench: {checked} checks")


if __name__ == "__main__":
    main()
