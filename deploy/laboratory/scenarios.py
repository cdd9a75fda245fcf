"""Named series of runs, and what they add up to."""
import json
import os

from .report import distribution

PROCESSES = ["kill", "kill-primary", "kill-all", "pause"]
CUTS = ["cut", "cut-direction", "cut-halves", "cut-port", "hold"]
FRAMES = ["loss", "duplication", "delay", "corruption", "forgery", "reset", "slow-link"]
HOSTS = ["host-death", "slow-sync", "failing-sync", "kill-at-call", "disk-full", "squeeze", "memory-squeeze",
         "clock-jump", "clock-rate", "join", "old-disk", "rolling-restart"]
CLOSE = ("--rest", "0.5", "1")  # seconds from one fault to the next
DATA = ("--data-nodes", "3")
ETCD = ["kill-etcd", "pause-etcd", "cut-etcd", "cut-standbys", "cut-one-way", "cut-etcd-kill"]
RECORDS = ["delete-record", "restore-etcd", "wipe"]
FAILOVERS = ["kill-primary", "stop-primary", "pause", "host-death", "cut", "hang-sync"]


def arguments(seconds, workloads, names, *more):
    """The words of one `deploy/lab chaos`."""
    words = ["--seconds", str(seconds)] + [word for name in workloads for word in ("--workload", name)]
    return words + [word for name in names for word in ("--nemesis", name)] + list(more)


SCENARIOS = {
    "ci": ("what CI runs: every nemesis of a primary that the machine can make, and data nodes, in at most 8 minutes", [
        arguments(40, ["increments", "set"], PROCESSES),
        arguments(50, ["increments", "registers"], CUTS),
        arguments(50, ["mixed"], FRAMES),
        arguments(85, ["mixed"], HOSTS),
        arguments(50, ["increments", "set"], FAILOVERS + ["cut-etcd", "cut-standbys", "kill-etcd", "wipe"], *DATA),
    ]),
    "failover": ("data nodes under all that makes another take over, etcd with 1 and with 3 members; 13 minutes", [
        arguments(100, ["increments", "set"], FAILOVERS, *DATA),
        arguments(100, ["increments", "registers"], ETCD, "--etcd", "3", *DATA),
        arguments(100, ["transfers", "increments"], RECORDS + ["kill-primary"], *DATA),
        arguments(100, ["mixed"], CUTS + ["loss", "delay", "duplication", "reset", "slow-link"], *DATA),
        arguments(100, ["increments", "appends"], HOSTS, "--etcd", "3", *DATA),
        arguments(100, ["increments", "set"], ["kill-primary", "kill-all", "kill", "pause-etcd"], "--etcd", "3", *CLOSE,
                  *DATA),
    ]),
    "takeovers": ("the primary of data nodes is killed, stopped or cut off, again and again; 25 minutes", [
        arguments(600, ["increments", "set"], FAILOVERS, *CLOSE, *DATA),
        arguments(600, ["registers", "increments"], ["kill-primary", "stop-primary"], "--etcd", "3", *CLOSE, *DATA),
    ]),
    "long": ("seven workloads under every kind of faults, 2 minutes each; an hour", [
        arguments(120, [workload], names, *CLOSE)
        for workload in ("transfers", "documents", "sessions", "increments", "registers", "set", "appends")
        for names in (PROCESSES, CUTS, FRAMES, HOSTS)
    ]),
    "kills": ("500 kills of the primary; 12 minutes", [
        arguments(330, ["increments", "set"], ["kill-primary"], *CLOSE),
        arguments(330, ["increments", "transfers"], ["kill-primary"], *CLOSE),
    ]),
    "million": ("kills of the primary with a million entries in its log; 3 minutes", [
        arguments(100, ["stream:50000", "increments:50"], ["kill-primary"], "--calm", "30"),
    ]),
    "cuts": ("200 cuts, a third of them in one direction; 25 minutes", [
        arguments(750, ["increments", "registers"], ["cut", "cut-direction", "cut-halves"], *CLOSE),
        arguments(750, ["sessions", "set"], ["cut", "cut-direction", "cut-port"], *CLOSE),
    ]),
    "pauses": ("200 pauses; 25 minutes", [
        arguments(750, ["increments", "registers"], ["pause"], *CLOSE),
        arguments(750, ["transfers", "appends"], ["pause"], *CLOSE),
    ]),
    "searches": ("the search cache of all nodes; 3 minutes", [
        arguments(60, ["searches"], names) for names in (PROCESSES, CUTS, FRAMES)
    ]),
    "soak": ("an hour at half the maximum rate with a fault a minute", [
        arguments(40, ["stream"], ["none"], "--rate", "0"),
        arguments(3600, ["stream", "increments:50", "transfers:10"], ["kill", "pause", "cut", "join", "delay"], "--rate", "{half}",
                  "--rest", "52", "58"),
    ]),
    "overload": ("3 and 10 times what the cluster can take, for 2 minutes each, beside a small load", [
        arguments(20, ["stream"], ["none"], "--rate", "0", "--open"),
        arguments(120, ["increments"], ["overload-3"], "--capacity", "{rate}", "--calm", "15"),
        arguments(120, ["increments"], ["overload-10"], "--capacity", "{rate}", "--calm", "15"),
    ]),
    "controls": ("planted defects, each of which must be found; LOCKSTEP_LAB_PROGRAM is a program that has them", [
        arguments(40, ["increments", "set"], ["kill-at-call", "kill"], "--defect", "answerBeforeCommit"),
        arguments(40, ["increments", "set"], ["kill-primary", "loss"], "--defect", "noDeduplication"),
        arguments(40, ["increments", "appends"], ["loss", "cut", "slow-link"], "--defect", "gapIgnored"),
        arguments(40, ["increments"], ["kill-primary"], "--defect", "epochReused"),
        arguments(40, ["increments"], ["failing-sync"], "--defect", "failedCommitIgnored"),
    ]),
    "stream": ("full rate beside a replica on a slow link", [
        arguments(60, ["stream"], ["slow-link", "pause"], "--rate", "0", "--workers", "4"),
    ]),
}


def filled(words, reports):
    """The words of a run, with what the run before has measured in the places that are left for it."""
    rate = reports[-1]["figures"]["rate"] if reports else 0
    known = next((report["figures"]["rate"] for report in reports if not report["nemeses"]), rate)
    return [word.replace("{rate}", str(round(known))).replace("{half}", str(round(known / 2))) for word in words]


def judged(options, status):
    """The status of a run in its series: one with a planted defect passes if that was found."""
    if not options.defect:
        return status
    print(f"the defect {options.defect} was {'found' if status == 1 else 'NOT found'}")
    return 0 if status == 1 else 1


def add_up(folder, reports):
    """The figures of a series, from the reports of its runs, as text and JSON."""
    totals = {"runs": len(reports), "passed": 0, "acknowledged": 0, "operations": 0, "faultSeconds": 0.0, "faults": {},
              "fired": {}, "failovers": 0, "pauses": {}, "problems": []}
    for report in reports:
        totals["passed"] += report["verdict"] == "passed"
        totals["acknowledged"] += report["acknowledged"] or 0
        totals["operations"] += report["figures"]["operations"]
        totals["failovers"] += report["figures"].get("failovers", 0)
        totals["problems"] += [f"seed {report['seed']}: {text}" for text in report["problems"] + report["invalid"]]
        for name, entry in report["figures"]["nemeses"].items():
            totals["faults"][name] = totals["faults"].get(name, 0) + entry["faults"]
            totals["fired"][name] = totals["fired"].get(name, 0) + entry["fired"]
            totals["pauses"].setdefault(name, []).extend(entry.get("pauses", []))
            totals["faultSeconds"] = round(totals["faultSeconds"] + entry["seconds"], 1)
    pauses = {name: distribution(found) for name, found in totals["pauses"].items() if found}
    if pauses:
        pauses["all"] = distribution([pause for found in totals["pauses"].values() for pause in found])
    totals["pauses"] = pauses
    with open(os.path.join(folder, "series.json"), "w", encoding="utf-8") as file:
        json.dump({"totals": totals, "runs": reports}, file, indent=1)
    lines = [f"{totals['passed']} of {totals['runs']} runs passed: {totals['operations']} operations, "
             f"{totals['acknowledged']} acknowledged writes, {totals['faultSeconds']} s of faults, "
             f"{totals['failovers']} failovers"]
    lines += [f"  {name:<18}{count:>5} faults{totals['fired'][name]:>9} fired"
              + (f"; pauses in s {pauses[name]}" if name in pauses else "")
              for name, count in sorted(totals["faults"].items())]
    return "\n".join(lines + ["  " + text for text in totals["problems"][:40]]) + "\n"
