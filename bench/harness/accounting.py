"""CPU time and open connections of whole process trees, read from /proc."""

import os
import resource
from collections import Counter

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
ESTABLISHED = "01"


def cpu_seconds(roots):
    """CPU seconds that the trees below the process ids `roots` have used so far.

    User and system time of every living process, and of the children it has waited for: the sum never falls
    when a process ends, because its time moves to its parent.
    """
    processes = _processes()
    return sum(processes[pid].ticks for pid in _trees(processes, roots)) / CLOCK_TICKS


class Window:
    """Who used the processors while something was measured."""

    def __init__(self, roots):
        """Begins now; `roots` are the process ids whose trees do the measured work."""
        self._roots = roots
        self._before = self._now()

    def close(self):
        """CPU seconds of the measured trees, and the percentage of the machine that others took meanwhile.

        Others are all processes but the trees and the children that this process has waited for since (the
        load generator), and a hypervisor that gave the time to somebody else. Interrupts count for nobody:
        some kernels charge them to the process that they interrupt, others do not.
        """
        ours, load, busy, total = (after - before for after, before in zip(self._now(), self._before))
        return ours, max(0.0, 100 * (busy - ours - load) / total)

    def _now(self):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        load = children.ru_utime + children.ru_stime
        return (cpu_seconds(self._roots), load, *machine_seconds(_lines("/proc/stat")[0]))


def machine_seconds(line):
    """Seconds that all processors were taken, and all their seconds, from the first line of /proc/stat."""
    user, nice, system, idle, iowait, irq, softirq, steal = (int(field) for field in line.split()[1:9])
    taken = user + nice + system + steal
    return taken / CLOCK_TICKS, (taken + idle + iowait + irq + softirq) / CLOCK_TICKS


def connections_per_process(roots, port):
    """How many established connections on the local TCP `port` each process holds, largest first.

    Only processes that hold at least one are listed.
    """
    sockets = {
        inode for table in ("tcp", "tcp6") for inode in established(_lines(f"/proc/net/{table}"), port)
    }
    held = Counter()
    for pid in _trees(_processes(), roots):
        held[pid] += sum(1 for inode in _socket_inodes(pid) if inode in sockets)
    return sorted((count for count in held.values() if count), reverse=True)


class Stat:
    """The fields of /proc/PID/stat that matter here."""

    def __init__(self, line):
        # The name in parentheses may hold spaces and parentheses itself; fields count from behind it.
        fields = line[line.rindex(")") + 2 :].split()
        self.parent = int(fields[1])
        self.ticks = sum(int(field) for field in fields[11:15])


def established(lines, port):
    """Inodes of the established sockets on a local port, from the lines of /proc/net/tcp."""
    inodes = set()
    for line in lines[1:]:
        fields = line.split()
        if fields[3] == ESTABLISHED and int(fields[1].rpartition(":")[2], 16) == port:
            inodes.add(fields[9])
    return inodes


def _processes():
    processes = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            lines = _lines(f"/proc/{entry}/stat")
            if lines:
                processes[int(entry)] = Stat(lines[0])
    return processes


def _trees(processes, roots):
    children = {}
    for pid, stat in processes.items():
        children.setdefault(stat.parent, []).append(pid)
    found, waiting = set(), [pid for pid in roots if pid in processes]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return found


def _lines(path):
    """The lines of a file, or none if the process it speaks of has ended."""
    try:
        with open(path) as file:
            return file.readlines()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _socket_inodes(pid):
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except (FileNotFoundError, ProcessLookupError):
        return
    for descriptor in descriptors:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]
