# SPDX-License-Identifier: GPL-2.0-only
"""Converts device trees and the tables of intel_idle in a Linux source folder to machine files.

    machines-from-source.py SOURCE DONORS OUT    SOURCE: the folder that scripts/linux-source.sh prints; DONORS: data/machines; OUT: a new folder

Writes OUT/NAME.toml for each machine. Prints file, line and reason of each input that cannot be converted, then counts.

A tree is a file with dynamic-power-coefficient or capacity-dmips-mhz. It is read in this order:
1. by itself, since most files have all that describes a core;
2. as the first board, by name, that includes it and can be converted, since some files leave operating points to boards.
If none can be converted, the reason is that of the file itself, or of the first board if the file cannot be read alone."""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
import device_tree
from device_tree import Malformed

FOLDERS = ["arch/arm64/boot/dts", "arch/arm/boot/dts"]
MARK = re.compile(r"\b(?:dynamic-power-coefficient|capacity-dmips-mhz)\b")
TABLES = "drivers/idle/intel_idle.c"

# Work per second and GHz, in that of the reference core. Little cores: 0.6993 at 1.8048 GHz in phone-three-kinds. Others, where a tree has no little
# core beside them: 0.39 x 1024 / 535, the capacities of Cortex-A57 and Cortex-A53 in trees that have both.
IN_ORDER = 0.39
OUT_OF_ORDER = 0.75
IN_ORDER_CORES = {f"cortex-a{model}" for model in (5, 7, 8, 35, 53, 55, 510, 520)}
# From this ratio of capacities on, the slower kind is taken for a little core, whatever its name.
BIG_AND_LITTLE = 1.25

# Voltages where a tree has none: the range of phone-2024, whose top is the highest of any phone file.
LOWEST_V, HIGHEST_V = 0.6, 1.05
# Idle watts: as phone-three-kinds assumes them, since trees have none.
IDLE_SHARE = 0.03
OFF_W = 0.0005
# The most that a machine file takes.
MAX_IDLE_STATES = 8

# What a tree does not describe: as phone-three-kinds has it, so that trees differ in their cores only.

COMMON = """
sockets = 1
clock_domain = "{clock_domain}"
voltage_domain = "kind"
memory_domain = "socket"
base_w = 0.5
shortest_exit_share = 0.25

[ships]
placement = "fair-class"
governor = "{governor}"
source = "{source}"

[dram]
idle_w = 0.05
stall_w_per_core = 0.1

[cpufreq]
transition_us = 50
ondemand_period_ms = 20
schedutil_rate_limit_us = 2000

[cost]
context_switch_us = 3
migration_us = 8
memory_domain_us = 8
"""
PARK = f"""
[park]
exit_us = %s
w = {OFF_W}
"""
EAS = "Linux, Documentation/scheduler/sched-energy.rst: energy-aware placement where kinds differ and cores have no SMT, with schedutil"
SCHEDUTIL = "Placement: Linux, kernel/sched/fair.c. Governor: Linux, drivers/cpufreq/Kconfig, the default on Arm"
COMMON_NOTE = (
    "Assumed, the same for each machine from a device tree: board and memory watts, costs, transition and rate limits as of phone-three-kinds, so that "
    f"trees differ in their cores only; idle watts {IDLE_SHARE:.0%} of the top busy watts, with V^2; {OFF_W} W of a core that is off, states between on a "
    "line; WFI left in 1 us; a voltage plane for each kind; one last-level cache. A parked core is left like the deepest state, and none is parked where a "
    "kind has no state but WFI. Idle states of clusters are left out, and so is heat."
)


def format_figure(value):
    return f"{value:.6g}"


def quote(value):
    """Returns a string of TOML. A name from a source has no use for a backslash or a quotation mark."""
    return '"' + value.replace("\\", "/").replace('"', "'") + '"'


class Point:
    """An operating point: clock in MHz, voltage in V, or None."""

    def __init__(self, mhz, volts):
        self.mhz = mhz
        self.volts = volts


class Kind:
    """Cores that are alike and share an operating-point table."""

    def __init__(self, name, count, capacity, coefficient, points, has_voltages, idle):
        self.name = name
        self.cores = count
        self.capacity = capacity
        self.coefficient = coefficient
        self.points = points
        self.has_voltages = has_voltages
        self.idle = idle
        self.speed = 0.0

    def busy_w(self, point):
        """P = C f V^2, with C in uW/MHz/V^2."""
        return self.coefficient * point.mhz * point.volts**2 / 1e6

    def idle_w(self, point):
        top = self.points[-1]
        return min(IDLE_SHARE * self.busy_w(top) * (point.volts / top.volts) ** 2, self.busy_w(point))

    def is_in_order(self):
        return self.name in IN_ORDER_CORES


def cpus_of(tree):
    cpus = tree.find("/cpus")
    found = [node for node in cpus.children.values() if node.name.startswith("cpu@") and not node.is_disabled()] if cpus else []
    if not found:
        raise (cpus or tree.root).error("no CPU that is enabled", "has no CPU")
    return found


def clock_of(tree, cpu):
    """Returns the key of the CPU's clock, whether cores share it, and the node of the operating points."""
    tables = tree.references(cpu, "operating-points-v2")
    domain = cpu.properties.get("qcom,freq-domain")
    if not tables:
        if "operating-points" in cpu.properties:
            return (cpu.path(),), False, cpu
        raise cpu.error("no operating points (operating-points-v2)", "no operating points")
    if domain:
        return tuple(domain.cells()), True, tables[0]
    return (tables[0].path(),), "opp-shared" in tables[0].properties, tables[0]


def volts_of(node):
    """Returns the voltage of an operating point in V: the first value of opp-microvolt, or of the first opp-microvolt-NAME by name; or None."""
    keys = sorted(key for key in node.properties if re.match(r"opp-microvolt(-|$)", key))
    return node.number(keys[0]) / 1e6 if keys else None


def pairs_of(cpu):
    """Returns the points of the older form: pairs of kHz and uV in the CPU itself."""
    numbers = cpu.numbers("operating-points")
    if len(numbers) % 2:
        raise cpu.error("operating-points are not pairs of kHz and uV", "is malformed", "operating-points")
    return [Point(khz / 1e3, microvolts / 1e6) for khz, microvolts in zip(numbers[::2], numbers[1::2])]


def listed_points(node):
    """Returns the points of a table without those that boost, which Linux leaves off, and those that are disabled."""
    points = []
    for child in node.children.values():
        if child.is_disabled() or "turbo-mode" in child.properties or "opp-hz" not in child.properties:
            continue
        hz = child.numbers("opp-hz")
        if not hz or not sum(hz):
            raise child.error("opp-hz has no clock", "is malformed", "opp-hz")
        # 64 bits, in one cell after /bits/ 64 or else in two.
        points.append(Point((hz[0] if len(hz) == 1 else hz[0] << 32 | hz[1]) / 1e6, volts_of(child)))
    return points


def points_of(node):
    """Returns the points of a table by clock, and whether the tree has their voltages. A voltage never falls with the clock: the higher one is kept."""
    by_clock = {}
    for point in pairs_of(node) if "operating-points" in node.properties else listed_points(node):
        by_clock.setdefault(point.mhz, point)
    points = [by_clock[mhz] for mhz in sorted(by_clock)]
    if not points:
        raise node.error("no operating point with a clock (opp-hz)", "no operating points")
    if not all(point.volts for point in points):
        draw_voltages(points)
        return points, False
    for before, point in zip(points, points[1:]):
        point.volts = max(point.volts, before.volts)
    return points, True


def draw_voltages(points):
    """V = lowest + (highest - lowest) (f - f_min) / (f_max - f_min); the highest for a single clock."""
    low, high = points[0].mhz, points[-1].mhz
    for point in points:
        share = (point.mhz - low) / (high - low) if high > low else 1.0
        point.volts = LOWEST_V + (HIGHEST_V - LOWEST_V) * share


def idle_of(tree, cpu):
    """Returns the states (name, exit time, residency, in us) that a CPU has by itself: its own list, or that of its power domain."""
    nodes = tree.references(cpu, "cpu-idle-states")
    for domain in tree.references(cpu, "power-domains"):
        nodes += tree.references(domain, "domain-idle-states")
    states = []
    for node in nodes:
        exit_us, residency_us = node.number("exit-latency-us"), node.number("min-residency-us")
        if exit_us is None or residency_us is None:
            missing = "exit-latency-us" if exit_us is None else "min-residency-us"
            raise node.error(f"an idle state without {missing}", "incomplete idle states")
        states.append((node.name[:24], exit_us, max(residency_us, 1)))
    return tuple(sorted(set(states), key=lambda state: state[2]))


def drop_alike(states):
    """Returns states whose residency rises; of several with the same one, the one that takes longest to leave."""
    by_residency = {}
    for state in sorted(states, key=lambda state: state[1]):
        by_residency[state[2]] = state
    return [by_residency[residency] for residency in sorted(by_residency)][:MAX_IDLE_STATES - 1]


def name_of(cpu):
    return (cpu.text("compatible") or cpu.name).split(",")[-1][:20]


def kinds_of(tree):
    """Returns the kinds, and whether cores share clocks."""
    groups, tables, coefficients = defaultdict(list), {}, {}
    for cpu in cpus_of(tree):
        # It may be at one CPU of each clock only, since Linux reads no other.
        coefficient = cpu.number("dynamic-power-coefficient")
        clock, is_shared, table = clock_of(tree, cpu) if coefficient or "operating-points-v2" in cpu.properties else ((cpu.path(),), False, None)
        tables[clock] = (is_shared, table)
        coefficients[clock] = coefficients.get(clock) or coefficient
        groups[name_of(cpu), cpu.number("capacity-dmips-mhz"), clock, idle_of(tree, cpu)].append(cpu)
    capacities = {capacity for _, capacity, _, _ in groups}
    kinds = []
    for (name, capacity, clock, idle), cpus in groups.items():
        if not coefficients[clock]:
            raise cpus[0].error("no dynamic-power-coefficient", "no dynamic-power-coefficient")
        if not capacity and len({name for name, _, _, _ in groups}) > 1:
            raise cpus[0].error("no capacity-dmips-mhz beside cores of another kind", "no capacity-dmips-mhz")
        if not capacity and capacities != {None}:
            raise cpus[0].error("no capacity-dmips-mhz, which other cores have", "no capacity-dmips-mhz")
        points, has_voltages = points_of(tables[clock][1])
        kinds.append(Kind(name, len(cpus), capacity or 1024, coefficients[clock], points, has_voltages, drop_alike(idle)))
    return kinds, any(is_shared for is_shared, _ in tables.values())


def set_speeds(kinds):
    """Sets speeds and sorts by them. Returns what is assumed, as a note.

    speed = anchor x capacity / capacity of the slowest kind for each MHz x GHz of the highest clock"""
    slowest = min(kinds, key=lambda kind: kind.capacity)
    is_little = max(kind.capacity for kind in kinds) >= BIG_AND_LITTLE * slowest.capacity
    anchor = IN_ORDER if is_little or slowest.is_in_order() else OUT_OF_ORDER
    for kind in kinds:
        kind.speed = anchor * kind.capacity / slowest.capacity * kind.points[-1].mhz / 1e3
    kinds.sort(key=lambda kind: -kind.speed)
    like = "as the little cores of phone-three-kinds" if anchor == IN_ORDER else "as Cortex-A57 beside its little cores"
    return (
        f"Speed: {slowest.name} {anchor} times phenom-9750 for each GHz, {like} (assumed); "
        "other kinds beside it by capacity-dmips-mhz and highest clock."
    )


def name_kinds(kinds):
    """Numbers kinds of the same name, which have clocks of their own."""
    for name, count in Counter(kind.name for kind in kinds).items():
        alike = [kind for kind in kinds if kind.name == name]
        for i, kind in enumerate(alike if count > 1 else []):
            kind.name = f"{name}-{i + 1}"


def kind_toml(kind):
    opps = []
    for point in kind.points:
        watts = f"idle_w = {format_figure(kind.idle_w(point))}, busy_w = {format_figure(kind.busy_w(point))}"
        opps.append(f"  {{ mhz = {format_figure(point.mhz)}, mv = {round(point.volts * 1e3)}, {watts} }},")
    resting_w = kind.idle_w(kind.points[0])
    idle = ['  { name = "WFI", exit_us = 1, residency_us = 0 },']
    for i, (name, exit_us, residency_us) in enumerate(kind.idle):
        watts = between(resting_w, OFF_W, i + 1, len(kind.idle))
        idle.append(f"  {{ name = {quote(name)}, exit_us = {exit_us}, residency_us = {residency_us}, w = {format_figure(watts)} }},")
    head = f"\n[[kind]]\nname = {quote(kind.name)}\ncores = {kind.cores}\nspeed = {format_figure(kind.speed)}\n"
    return head + "opp = [\n" + "\n".join(opps) + "\n]\nidle = [\n" + "\n".join(idle) + "\n]\n"


def between(first_w, last_w, i, last):
    """Returns the watts of state i on a line from state 0 to the last."""
    return first_w + (min(last_w, first_w) - first_w) * i / last


def tree_toml(name, origin, tree):
    """Returns the machine file of a tree. `origin`: the file and package that the tree comes from, for the sources."""
    kinds, is_shared = kinds_of(tree)
    speed_note = set_speeds(kinds)
    name_kinds(kinds)
    coefficients = ", ".join(f"{kind.coefficient} ({kind.name})" for kind in kinds)
    notes = [
        f"From the device tree: kinds, clocks, exit times and residencies; watts of a busy core C f V^2 with C = {coefficients} uW/MHz/V^2. "
        "They are those of the cores alone.",
        speed_note,
        COMMON_NOTE,
    ]
    without = [kind.name for kind in kinds if not kind.has_voltages]
    if len(without) < len(kinds):
        notes.append("Voltages: from the device tree, the first of each point" + (", but for those below." if without else "."))
    if without:
        line = f"a line from {LOWEST_V} to {HIGHEST_V} V over the clocks of the kind"
        notes.append(f"Voltages of {', '.join(without)}, which the tree leaves to the firmware: assumed, {line}.")
    differ = len({format_figure(kind.speed) for kind in kinds}) > 1
    # Cores that cannot sleep are not parked either: that would be a state that only some policies can use.
    can_sleep = all(kind.idle for kind in kinds)
    park = PARK % max(state[1] for kind in kinds for state in kind.idle) if can_sleep else ""
    cores = ", ".join(f"{kind.cores} {kind.name}" for kind in kinds)
    head = (
        f"name = {quote(name)}\ndescription = {quote(f'Converted from a device tree: {cores}'[:200])}\n"
        f"sources = [{quote(f'Linux: {origin}')}]\nnotes = [\n" + "".join(f"  {quote(note)},\n" for note in notes) + "]\n"
    )
    common = COMMON.format(
        clock_domain="kind" if is_shared else "core", governor="eas" if differ else "schedutil", source=EAS if differ else SCHEDUTIL
    )
    return head + common + park + "".join(kind_toml(kind) for kind in kinds)


class Trees:
    """The device trees of a source folder, and which files include which."""

    def __init__(self, source):
        self.source = source
        self.files = []
        self.includers = defaultdict(set)
        for file in sorted(file for folder in FOLDERS for file in (source / folder).rglob("*.dts*") if file.is_file()):
            content = file.read_text(errors="replace")
            if MARK.search(content) and file.suffix in (".dts", ".dtsi"):
                self.files.append(file)
            for included in re.findall(r'^\s*(?:#\s*include|/include/)\s*["<]([^">]+\.dtsi?)[">]', content, re.M):
                self.includers[self.resolve(file, included)].add(file)

    def resolve(self, file, included):
        beside = (file.parent / included).resolve()
        return beside if beside.exists() else (self.source / "scripts/dtc/include-prefixes" / included).resolve()

    def boards(self, file):
        """Returns the boards that include a file, by name."""
        found, ahead = set(), [file.resolve()]
        while ahead:
            for includer in self.includers[ahead.pop()] - found:
                found.add(includer)
                ahead.append(includer.resolve())
        return sorted(file for file in found if file.suffix == ".dts")

    def convert(self, file):
        """Returns the machine file of the tree. Malformed: neither the file nor a board that includes it can be converted."""
        fault = None
        for candidate in [file, *self.boards(file)]:
            origin = f"{file.relative_to(self.source)} in {self.source.name}" + (f", as {candidate.name} completes it" if candidate != file else "")
            try:
                return tree_toml(file.stem, origin, device_tree.read(candidate, self.source))
            except Malformed as error:
                if fault is None or fault.fault == "refers to what is not in it":
                    fault = error
        raise fault


class Table:
    """A table of intel_idle: its name without _cstates, and the states (name, exit time, residency, in us) that are used."""

    def __init__(self, name, states, place):
        self.name = name
        self.states = states
        self.place = place


def place_in(file, content, at):
    return file, content.count("\n", 0, at) + 1


def read_states(content, file, at, body):
    """Returns the states of a table's body, which begins at `at`; without those that the table marks as unusable."""
    states = []
    for entry in re.finditer(r"\{([^{}]*)\}", body):
        fields = dict(re.findall(r"\.(\w+)\s*=\s*([^,]+?)\s*(?:,|$)", entry[1]))
        if fields.get("enter") == "NULL":
            break
        if "CPUIDLE_FLAG_UNUSABLE" in fields.get("flags", ""):
            continue
        place = place_in(file, content, at + entry.start())
        for key in ("name", "exit_latency", "target_residency"):
            if key not in fields:
                raise Malformed(place, f"a state without .{key}", "incomplete idle states")
        numbers = [fields["exit_latency"], fields["target_residency"]]
        if not all(re.fullmatch(r"\d+", number) for number in numbers):
            raise Malformed(place, f".exit_latency = {numbers[0]} and .target_residency = {numbers[1]}, expected numbers")
        exit_us, residency_us = map(int, numbers)
        # A machine file begins with a state that can be entered at any time.
        residency_us = residency_us if states else 0
        if states and residency_us < states[-1][2]:
            raise Malformed(place, f"a residency of {residency_us} us after {states[-1][2]} us", "residencies that fall")
        # Of two with the same residency Linux enters the deeper one.
        if states and residency_us == states[-1][2]:
            states.pop()
        states.append((fields["name"].strip('"'), exit_us, residency_us))
    if not states:
        raise Malformed(place_in(file, content, at), "no state in the table", "incomplete idle states")
    return states


def tables_of(content, file):
    """Returns the tables, and the errors of those that cannot be read."""
    tables, errors = [], []
    for match in re.finditer(r"struct cpuidle_state (\w+?)_cstates(\w*)\[\][^={]*=\s*\{(.*?)^\};", content, re.S | re.M):
        try:
            states = read_states(content, file, match.start(3), match[3])
            tables.append(Table(match[1] + match[2], states, place_in(file, content, match.start())))
        except Malformed as error:
            errors.append(error)
    return tables, errors


def places_of(content):
    """Returns for each table where it is used: among {"client", "server"}, by the names of the processors that the driver lists.

    1. Server: names that end in _X, _D, _EP or _EX, and Xeon Phi, since these suffixes mark servers in the kernel's list of processors.
    2. Client: all others."""
    table_of = {cpu: table for cpu, table in re.findall(r"struct idle_cpu (\w+)[^={]*=\s*\{[^}]*?\.state_table\s*=\s*(\w+?)_cstates", content)}
    places = defaultdict(set)
    for processor, cpu in re.findall(r"X86_MATCH_\w+\(\s*(\w+)\s*,\s*&(\w+)\s*\)", content):
        if cpu in table_of:
            is_server = re.search(r"_(X|D|EP|EX)$|XEON", processor)
            places[table_of[cpu]].add("server" if is_server else "client")
    return places


DONORS = {"client": "laptop-hybrid", "server": "server-2x64"}


def table_toml(table, place, origin, donor):
    """Returns the donor's machine file with the table's idle states in place of those of each kind.

    The first state draws the idle watts of its operating point, the deepest those of the donor's deepest, states between are on a line."""
    name = f"intel-{table.name.replace('_', '-')}-{place}"
    toml = re.sub(r"(?m)^processor = .*\n", "", donor)
    toml = re.sub(r"(?m)^name = .*$", f"name = {quote(name)}", toml, count=1)
    toml = re.sub(r"(?m)^description = .*$", f"description = {quote(f'{DONORS[place]} with the idle states of {table.name} of intel_idle')}", toml, count=1)
    note = (
        f"Idle states: {table.name}_cstates of {origin}, for each kind, in place of those that the other notes and sources name. The first draws the idle watts "
        f"of its operating point, the deepest those of the deepest of {DONORS[place]}, states between on a line (assumed). "
        f"A parked core is left like the deepest state. All else is of {DONORS[place]}."
    )
    toml = re.sub(r"(?m)^notes = \[$", lambda match: f"{match[0]}\n  {quote(note)},", toml, count=1)
    toml = re.sub(r"(?m)(^\[park\]\nexit_us = ).*$", rf"\g<1>{table.states[-1][1]}", toml)

    def swap(match):
        return match[1] + idle_toml(table.states, float(re.search(r"idle_w = +([\d.]+)", match[1])[1]), float(re.findall(r"\bw = +([\d.]+)", match[2])[-1]))

    return name, re.sub(r"(?ms)(^opp = \[\n.*?^idle = \[\n)(.*?)(?=^\])", swap, toml)


def idle_toml(states, first_w, deepest_w):
    lines = []
    for i, (name, exit_us, residency_us) in enumerate(states):
        watts = f", w = {format_figure(between(first_w, deepest_w, i, len(states) - 1))}" if i else ", holds_voltage = false" if name == "C1E" else ""
        lines.append(f"  {{ name = {quote(name)}, exit_us = {exit_us}, residency_us = {residency_us}{watts} }},\n")
    return "".join(lines)


class Result:
    """The machine files, and the errors of inputs that cannot be converted."""

    def __init__(self, out):
        self.out = out
        self.machines = Counter()
        self.errors = defaultdict(list)

    def write(self, what, name, toml):
        (self.out / f"{name}.toml").write_text(toml)
        self.machines[what] += 1

    def skip(self, what, name, error):
        print(f"skipped: {error}" if str(error).startswith(str(name)) else f"skipped: {name}: {error}")
        self.errors[what].append(error)

    def count(self, what, seen):
        skipped = Counter(error.fault for error in self.errors[what])
        reasons = "".join(f"; {count} {fault}" for fault, count in skipped.most_common())
        print(f"{what}: {seen} seen, {self.machines[what]} machines, {skipped.total()} skipped{reasons}")


def convert_trees(source, result):
    trees = Trees(source)
    for file in trees.files:
        try:
            result.write("device trees", file.stem, trees.convert(file))
        except Malformed as error:
            result.skip("device trees", file.relative_to(source), error)
    result.count("device trees", len(trees.files))


def convert_tables(source, donors, result):
    file = source / TABLES
    content = file.read_text()
    tables, errors = tables_of(content, TABLES)
    places = places_of(content)
    for error in errors:
        result.skip("intel_idle tables", TABLES, error)
    for table in tables:
        # A table that the driver chooses at run time (ivt_4s) is used where the one with the first part of its name is.
        of_table = places.get(table.name) or places.get(table.name.rsplit("_", 1)[0])
        if not of_table:
            result.skip("intel_idle tables", TABLES, Malformed(table.place, f"no processor uses {table.name}_cstates", "no processor"))
        for place in sorted(of_table or []):
            donor = (donors / f"{DONORS[place]}.toml").read_text()
            result.write("intel_idle tables", *table_toml(table, place, f"{TABLES} in {source.name}", donor))
    result.count("intel_idle tables", len(tables) + len(errors))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, donors, out = map(Path, sys.argv[1:])
    source = source.resolve()
    out.mkdir(parents=True)
    result = Result(out)
    convert_trees(source, result)
    if (source / TABLES).is_file():
        convert_tables(source, donors, result)


main()
