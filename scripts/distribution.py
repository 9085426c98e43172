# SPDX-License-Identifier: GPL-2.0-only
"""Prints the distribution of energy and time of auto over linux, over all cells of a result of `lop simulate --format json`.

    distribution.py RESULTS.json     with the policies linux, linux:performance and auto

Time is the time of the run, or the mean response where the clock sets the end. Counts, by the definition of a free saving:
free: energy <= 1.01 and time <= 1.01; dearer: energy > 1.01; later: time > 1.01. A cell may be both dearer and later."""

import json
import math
import sys
from collections import defaultdict

LIMIT = 1.01
P99_LIMIT = 1.05
SLOWEST_RESPONSE_S = 0.1
QUANTILES = [("least", 0), ("10th", 10), ("25th", 25), ("median", 50), ("75th", 75), ("90th", 90), ("most", 100)]


def response_s(result):
    return result["counters"].get("mean_response_s")


def can_keep_up(cell):
    """Whether the machine at its highest clocks keeps up with work that the clock sends. Otherwise less work is done, and that is less energy."""
    return (response_s(cell["linux:performance"]) or 0) <= SLOWEST_RESPONSE_S


def ratio(auto, shipped):
    """A ratio; 1 if both are 0."""
    return 1.0 if auto == shipped else auto / shipped


def time_of(cell):
    own, shipped = response_s(cell["auto"]), response_s(cell["linux"])
    if own is None or shipped is None:
        own, shipped = cell["auto"]["time_s"], cell["linux"]["time_s"]
    return ratio(own, shipped)


def energy_of(cell):
    return ratio(cell["auto"]["system_energy_j"], cell["linux"]["system_energy_j"])


def p99_of(cell):
    """Returns the ratio of the 99th percentile of responses, or None where there are no responses."""
    own, shipped = (cell[policy]["counters"].get("response_us") for policy in ("auto", "linux"))
    return ratio(own["p99"], shipped["p99"]) if own and shipped else None


def quantile(ordered, percent):
    """Returns a percentile, on a line between the two values beside it."""
    at = (len(ordered) - 1) * percent / 100
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def line(name, ratios):
    ordered = sorted(ratios)
    mean = math.exp(sum(math.log(value) for value in ordered) / len(ordered))
    return "".join([f"{name:<8}"] + [f"{quantile(ordered, percent):>9.3f}" for _, percent in QUANTILES] + [f"{mean:>9.3f}"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)["results"]
    by_point = defaultdict(dict)
    for result in results:
        by_point[result["point"]["machine"], result["point"]["workload"]][result["policy"]] = result
    cells = [cell for cell in by_point.values() if can_keep_up(cell)]
    if not cells:
        sys.exit("distribution.py: no cell in which the machine keeps up with its work")
    energies, times = list(map(energy_of, cells)), list(map(time_of, cells))
    p99s = [p99 for p99 in map(p99_of, cells) if p99 is not None]
    print(f"auto over what is shipped: {len(by_point)} cells of {len({machine for machine, _ in by_point})} machines, modelled")
    print(f"left out: {len(by_point) - len(cells)} cells whose work comes faster than the machine at its highest clocks does it")
    print("".join(["        "] + [f"{name:>9}" for name, _ in QUANTILES] + ["  geomean"]))
    print(line("energy", energies))
    print(line("time", times))
    free = sum(energy <= LIMIT and time <= LIMIT for energy, time in zip(energies, times))
    dearer, later = (sum(value > LIMIT for value in ratios) for ratios in (energies, times))
    both = free + dearer + later - len(cells)
    print(f"of {len(cells)} cells: {free} free, {dearer} dearer, {later} later ({both} of them dearer and later)")
    print(f"of {len(p99s)} cells with responses: {sum(value > P99_LIMIT for value in p99s)} with a 99th percentile above {P99_LIMIT} of that shipped")


main()
