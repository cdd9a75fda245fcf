"""What a run came to: read from histories and samples, judged, and written as text, JSON and a picture."""
import bisect
import json
import os

from .picture import picture, quantile

CALM_SUCCESS = 0.8  # of the operations of calm times
WRITES_AFTER_CUT, EQUAL_AFTER_CUT = 3.0, 5.0  # seconds
CUTS = ("cut", "cut-halves", "cut-direction", "cut-port")
VERDICTS = {"passed": 0, "violation": 1, "invalid": 2}


def read_operations(paths, start):
    """(began, ended, answered, is a write, count) of each operation, in seconds since the run's start."""
    operations = []
    for path in paths:
        open_ones = {}
        with open(path, "rb") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:
                    continue  # The last line of a client that was killed.
                at = line["at"] / 1e9 - start
                if "call" in line:
                    write = "read" not in line["call"]["action"]
                    open_ones[line["operation"]] = [at, None, False, write, line.get("count", 1)]
                else:
                    operation = open_ones[line["operation"]]
                    operation[1], operation[2] = at, line["outcome"] == "answered"
        operations += open_ones.values()
    return sorted(operations, key=lambda operation: operation[0])


def read_acknowledgements(paths, start):
    """When writes were acknowledged, in seconds since the run's start, by store."""
    found = {}
    for path in paths:
        open_ones = {}
        with open(path, "rb") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:
                    continue  # The last line of a client that was killed.
                if "call" in line:
                    if "read" not in line["call"]["action"]:
                        open_ones[line["operation"]] = line["call"]["key"]
                elif line["outcome"] == "answered" and line["operation"] in open_ones:
                    key = open_ones.pop(line["operation"])
                    store = "counters" if key.startswith("counter/") else "workbench"
                    found.setdefault(store, []).append(line["at"] / 1e9 - start)
    return {store: sorted(times) for store, times in found.items()}


def longest_pause(times, begin, end):
    """The longest time between two acknowledgements that reaches into a span; None if nothing came after it."""
    low, high = bisect.bisect_right(times, begin), bisect.bisect_right(times, end)
    if high == len(times):
        return None
    points = times[max(0, low - 1):high + 1]
    return max((b - max(a, begin) for a, b in zip(points, points[1:])), default=None)


def pauses_of(fault, acknowledged, recovery=1.0):
    """How long the clients of each store had no acknowledgement during a fault, or after each of its events."""
    if fault.get("events"):
        spans = [(at, at + recovery, [store] if store else list(acknowledged)) for at, store in fault["events"]]
    else:
        spans = [(fault["at"], fault["healed"] + recovery, list(acknowledged))]
    found = [longest_pause(acknowledged[store], begin, end) for begin, end, stores in spans
             for store in stores if store in acknowledged]
    return [round(pause, 3) for pause in found if pause is not None]


def is_late(seconds, limit):
    """Whether something came later than a goal says, or never."""
    return seconds is None or seconds > limit


def stops_writes(fault):
    """Whether it is a cut between the clients' host and the primary's, in one direction at least."""
    primary = fault.get("primary", "a")
    return fault["nemesis"] in CUTS and not {f"{primary}>k", f"k>{primary}"}.isdisjoint(fault["pairs"])


def mark_overtaken(faults):
    """Marks the faults after which a cut that stops writes began before the time was over in which they are to flow.

    Where no write came in between, the last of such a row of faults says how long it took.
    """
    for fault, following in zip(faults, faults[1:] + [None]):
        fault["overtaken"] = (
            is_late(fault["writesAfter"], WRITES_AFTER_CUT) and following is not None and stops_writes(following)
            and following["at"] < fault["healed"] + WRITES_AFTER_CUT)


def slope(points):
    """The slope of the straight line through points that is nearest to them; None of fewer than ten."""
    if len(points) < 10:
        return None
    x, y = (sum(values) / len(points) for values in zip(*points))
    spread = sum((a - x) ** 2 for a, _ in points)
    return round(sum((a - x) * (b - y) for a, b in points) / spread, 2) if spread else None


def calm_times(faults, end):
    """The times without a fault, from each recovery to the next fault."""
    times, begin = [], 0.0
    for fault in faults:
        times.append((begin, fault["at"]))
        begin = fault["healed"] + (fault["recovered"] or 0) + 1
    times.append((begin, end))
    return [(a, b) for a, b in times if b > a]


def distribution(pauses):
    """Pauses in seconds, as numbers of their distribution."""
    return {"count": len(pauses), **{name: quantile(pauses, part) for name, part in (
        ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1))}}


class Report:
    """The figures of a run and its verdict."""

    def __init__(self, options, raw):
        self.options, self.raw = options, raw
        self.seconds = raw["end"] - raw["start"]
        self.operations = read_operations(raw["histories"], raw["start"])
        self.calm = calm_times(raw["faults"], self.operations[-1][0] if self.operations else 0)
        self.problems, self.invalid = list(raw["problems"]), list(raw["invalid"])
        self.measure()
        self.judge()

    # MARK: figures

    def in_calm(self, operation):
        return any(a <= operation[0] and (operation[1] or operation[0]) <= b for a, b in self.calm)

    def measure(self):
        calm = [operation for operation in self.operations if self.in_calm(operation)]
        answered = [operation for operation in calm if operation[2]]
        writes = [operation[1] for operation in self.operations if operation[2] and operation[3]]
        # Searches count as reads, but need the primary to write.
        writes = writes or [operation[1] for operation in self.operations if operation[2]]
        latencies = [1000 * (operation[1] - operation[0]) for operation in answered]
        self.figures = {
            "operations": sum(operation[4] for operation in self.operations),
            "rate": self.rate(),
            "calmOperations": len(calm),
            "calmSuccess": round(len(answered) / len(calm), 4) if calm else 0.0,
            "calmLatencyMilliseconds": {name: round(quantile(latencies, part), 2) if latencies else None
                                        for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1))},
        }
        ordered = sorted(writes)
        self.figures["longestPauseSeconds"] = round(max((b - a for a, b in zip(ordered, ordered[1:])), default=0), 2)
        for fault in self.raw["faults"]:
            after = next((at for at in ordered if at >= fault["healed"]), None)
            fault["writesAfter"] = round(after - fault["healed"], 3) if after is not None else None
        mark_overtaken(self.raw["faults"])
        by_name = {}
        for fault in self.raw["faults"]:
            entry = by_name.setdefault(fault["nemesis"], {"faults": 0, "fired": 0, "seconds": 0.0, "recoveries": []})
            entry["faults"] += 1
            entry["fired"] += fault["fired"]
            entry["seconds"] = round(entry["seconds"] + fault["healed"] - fault["at"], 1)
            entry["recoveries"].append(fault["recovered"])
        self.figures["nemeses"] = by_name
        resident = [sample["resident"] for sample in self.raw["samples"] if "resident" in sample]
        self.figures["highestResidentMiB"] = round(max(resident, default=0) / 2**20, 1)
        self.figures["highestFiles"] = max((sample.get("files", 0) for sample in self.raw["samples"]), default=0)
        self.figures["highestWALMiB"] = round(
            max((sample.get("wal", 0) for sample in self.raw["samples"]), default=0) / 2**20, 1)

        if self.options.data_nodes:
            self.measure_failovers()
        self.figures["slopes"] = self.slopes()
        self.figures["p99Milliseconds"] = self.ends_of_run(answered)
        for fault in self.raw["faults"]:
            if "capacity" in fault:
                self.measure_overload(fault, answered)

    def measure_failovers(self):
        """How often the stores got another primary, and how long their clients had no acknowledgement meanwhile."""
        acknowledged = read_acknowledgements(self.raw["histories"], self.raw["start"])
        for fault in self.raw["faults"]:
            fault["pauses"] = pauses_of(fault, acknowledged)
        for name, entry in self.figures["nemeses"].items():
            entry["pauses"] = [pause for fault in self.raw["faults"] if fault["nemesis"] == name
                               for pause in fault["pauses"]]
        self.figures["pauses"] = distribution([p for fault in self.raw["faults"] for p in fault["pauses"]])
        self.figures["epochs"] = self.raw["judgement"].get("epochs", {})
        self.figures["failovers"] = sum(max(0, count - 1) for count in self.figures["epochs"].values())

    def rate(self, begin=0.0, end=None):
        """Answered operations a second between two times: the median of the seconds."""
        seconds = {}
        for operation in self.operations:
            if operation[2] and operation[1] >= begin and (end is None or operation[1] < end):
                seconds[int(operation[1])] = seconds.get(int(operation[1]), 0) + operation[4]
        return quantile(list(seconds.values()), 0.5) or 0

    def measure_overload(self, fault, calm):
        """What was kept of the maximum, and how fast the rest of the clients had their latency back."""
        fault["kept"] = round(self.rate(fault["at"] + 5, fault["at"] + fault["seconds"]) / fault["capacity"], 3)
        begun = sum(operation[4] for operation in self.operations
                    if fault["at"] + 5 <= operation[0] < fault["at"] + fault["seconds"])
        fault["begun"] = round(begun / (fault["seconds"] - 5))
        later = fault["ended"] - self.raw["start"] + 5
        after = [1000 * (operation[1] - operation[0]) for operation in calm if operation[0] >= later]
        before = [1000 * (operation[1] - operation[0]) for operation in calm if operation[1] <= fault["at"]]
        fault["p99Before"], fault["p99FiveSecondsAfter"] = (
            round(quantile(values, 0.99) or 0, 2) for values in (before, after))

    def slopes(self):
        """How resident memory, open files and the WAL of each node grow, an hour; without the first tenth."""
        found = {}
        for node in sorted({sample["node"] for sample in self.raw["samples"]}):
            for name, unit in (("resident", 2**20), ("files", 1), ("wal", 2**20)):
                points = [(sample["at"] / 3600, sample[name] / unit) for sample in self.raw["samples"]
                          if sample["node"] == node and name in sample and sample["at"] > self.seconds / 10]
                found.setdefault(node, {})[name] = slope(points)
        return found

    def ends_of_run(self, calm):
        """The 99th percentile of latency in the first and the last sixth of the calm times."""
        sixth = self.seconds / 6
        parts = ([operation for operation in calm if operation[0] < sixth],
                 [operation for operation in calm if operation[0] > self.seconds - sixth])
        return [round(quantile([1000 * (operation[1] - operation[0]) for operation in part], 0.99) or 0, 2)
                for part in parts]

    # MARK: verdict

    def judge(self):
        judgement = self.raw["judgement"]
        for check in judgement["checks"]:
            for finding in check["findings"]:
                self.problems.append(f"{check['name']}: {finding}")
            for text in check["undecided"]:
                self.invalid.append(f"{check['name']} is undecided: {text}")
        if not judgement["checks"]:
            self.problems.append("histories and journals were not judged")
        marks = {}
        for sample in self.raw["samples"]:
            for store, mark in sample.get("digests", {}).items():
                marks.setdefault((store, mark["sequence"]), {}).setdefault(mark["digest"], sample["node"])
            for alarm in sample.get("alarms", []):
                if "DIVERGED" in alarm or "AHEAD" in alarm or "PRIMARY_BEHIND" in alarm:
                    self.problems.append(f"{sample['node']} at {sample['at']} s: {alarm}")
        self.figures["comparedDigests"] = len(marks)
        self.problems += [f"other digests at {place}: {found}" for place, found in marks.items() if len(found) > 1]
        if self.raw["faults"] or self.options.nemeses:
            if not any(fault["fired"] for fault in self.raw["faults"]):
                self.invalid.append("no fault fired")
        if self.figures["calmSuccess"] < CALM_SUCCESS:
            self.invalid.append(
                f"only {self.figures['calmSuccess']:.0%} of {self.figures['calmOperations']} calm operations succeeded")
        self.slow = [
            f"fault {fault['number']} ({fault['nemesis']}): writes after {fault['writesAfter']} s, "
            f"equal after {fault['recovered']} s" for fault in self.raw["faults"] if fault["nemesis"] in CUTS
            and (is_late(fault["writesAfter"], WRITES_AFTER_CUT) and not fault["overtaken"]
                 or is_late(fault["recovered"], EQUAL_AFTER_CUT))]
        self.verdict = "violation" if self.problems else "invalid" if self.invalid else "passed"

    @property
    def status(self):
        return VERDICTS[self.verdict]

    # MARK: output

    def json(self):
        options = self.options
        judgement = self.raw["judgement"]
        return {
            "verdict": self.verdict, "seed": options.seed, "commit": options.commit, "workloads": options.workloads,
            "nemeses": options.nemeses, "seconds": round(self.seconds, 1), "command": options.command,
            "problems": self.problems, "invalid": self.invalid, "slowCuts": self.slow,
            "acknowledged": judgement.get("acknowledged"), "resolvedWithEffect": judgement.get("resolvedWithEffect"),
            "resolvedWithoutEffect": judgement.get("resolvedWithoutEffect"), "unresolved": judgement.get("unresolved"),
            "checks": judgement["checks"], "figures": self.figures, "faults": self.raw["faults"],
            "hostile": self.raw["hostile"],
        }

    def text(self):
        figures, judgement = self.figures, self.raw["judgement"]
        lines = [
            f"{self.verdict.upper()}  seed {self.options.seed}, commit {self.options.commit}, "
            f"{', '.join(self.options.workloads)}, {self.seconds:.0f} s",
            f"replay: {self.options.command}", "",
            f"operations   {figures['operations']}, acknowledged writes {judgement.get('acknowledged')}, "
            f"of writes without an answer {judgement.get('resolvedWithEffect')} took effect, "
            f"{judgement.get('resolvedWithoutEffect')} did not, {judgement.get('unresolved')} are open",
            f"calm times   {figures['calmOperations']} operations, {figures['calmSuccess']:.1%} answered, "
            f"milliseconds {figures['calmLatencyMilliseconds']}",
            f"pauses       longest time without an acknowledged write {figures['longestPauseSeconds']} s",
            f"resources    at most {figures['highestResidentMiB']} MiB resident, {figures['highestFiles']} files, "
            f"WAL {figures['highestWALMiB']} MiB a node; {figures['comparedDigests']} digests compared",
            f"over time    {figures['rate']} operations a second (median), p99 of the first and the last sixth "
            f"{figures['p99Milliseconds']} ms"]
        if self.options.data_nodes:
            lines.append(f"failovers    {figures['failovers']} epochs after the first: {figures['epochs']}; seconds "
                         f"without an acknowledgement in faults {figures['pauses']}")
        lines += [f"growth       of {node} in an hour: {entry['resident']} MiB resident, {entry['files']} files, "
                  f"{entry['wal']} MiB WAL" for node, entry in figures["slopes"].items() if self.seconds > 600]
        for letter, kinds in self.raw["hostile"].get("tried", {}).items():
            tried, delivered = (sum(entry.get(name, 0) for entry in kinds.values()) for name in ("tried", "delivered"))
            lines.append(f"hostile      tried {tried} connections and messages at {letter}, {delivered} delivered, "
                         f"{self.raw['hostile']['denied'][letter]} counted as denied there")
        lines += [
            "", f"{'nemesis':<18}{'faults':>7}{'fired':>9}{'seconds':>9}   until all nodes serve again: median, most"]
        for name, entry in sorted(figures["nemeses"].items()):
            known = [time for time in entry["recoveries"] if time is not None]
            middle, most = quantile(known, 0.5), max(known, default=None)
            pauses = distribution(entry["pauses"]) if entry.get("pauses") else None
            lines.append(f"{name:<18}{entry['faults']:>7}{entry['fired']:>9}{entry['seconds']:>9}   "
                         f"{middle} s, {most} s" + (f"; pauses {pauses}" if pauses else ""))
        for fault in self.raw["faults"]:
            if "capacity" in fault:
                lines.append(
                    f"overload       {fault['offered']} a second wanted, {fault['begun']} begun, BUSY {fault['busy']} "
                    f"times, {fault['kept']} of the maximum kept, p99 before {fault['p99Before']} ms, "
                    f"from 5 s after it on {fault['p99FiveSecondsAfter']} ms")
        lines += ["", f"{'check':<18}{'compared':>9}"]
        for check in judgement["checks"]:
            state = "BROKEN" if check["findings"] else "open" if check["undecided"] else ""
            lines.append(f"{check['name']:<18}{check['checked']:>9}  {state}")
        for title, texts in (("violations", self.problems), ("invalid because", self.invalid),
                             (f"cuts that took longer than {WRITES_AFTER_CUT:.0f} s until writes or "
                              f"{EQUAL_AFTER_CUT:.0f} s until equality", self.slow)):
            if texts:
                lines += ["", title + ":"] + ["  " + text for text in texts[:20]]
        return "\n".join(lines) + "\n"

    def write(self, folder):
        """Writes report.txt, report.json and, where there is something to see, report.svg."""
        with open(os.path.join(folder, "report.txt"), "w", encoding="utf-8") as file:
            file.write(self.text())
        with open(os.path.join(folder, "report.json"), "w", encoding="utf-8") as file:
            json.dump(self.json(), file, indent=1)
        with open(os.path.join(folder, "report.svg"), "w", encoding="utf-8") as file:
            file.write(picture(self))
