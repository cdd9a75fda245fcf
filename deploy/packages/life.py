"""The life of the packages on a host: installed, configured, used, upgraded under load, removed, purged."""
import re

from namespaces import wait_until

DATA = "/var/lib/lockstep/primary"
UNIT = "lockstep-primary"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -q -y"


class Broken(Exception):
    """The packages do not do what they should."""


class Life:
    """One host, and what was found so far."""

    def __init__(self, host, folder, kept=0):
        self.host, self.folder, self.kept = host, folder, kept

    def check(self, promise, is_kept, seen=""):
        if not is_kept:
            raise Broken(f"{promise}\n    seen: {str(seen).strip()[-600:]}")
        self.kept += 1

    def shows(self, promise, command, wanted):
        """What a command of the host prints is exactly this."""
        done = self.host.root(command)
        self.check(promise, done.output.strip() == wanted, f"{command}: {done.text}, not {wanted}")

    def install(self, folder):
        """Installs both packages, as deploy/README.md says; what was printed."""
        done = self.host.root(f"{APT} install {folder}/lockstep_*.deb {folder}/lockstep-lab_*.deb", 120)
        self.check("the packages can be installed", done.status == 0, done.text)
        return done.text

    def value(self):
        found = self.host.root("lockstep counter get visits --timeout 20").output.strip()
        return int(found) if found.isdigit() else None


def installed(life):
    """Files, owners, units and user of a package that is installed, before anything is configured."""
    life.shows("the first package comes onto a host without it", "dpkg-query -W -f '${Status}' lockstep 2>/dev/null", "")
    life.install(f"{life.folder}/1")
    for path, wanted in (("/usr/bin/lockstep", "root:root 755"), ("/usr/bin/lockstep-lab", "root:root 755"),
                         ("/etc/lockstep", "root:root 755"), ("/etc/lockstep/primary.env", "root:root 644"),
                         ("/etc/lockstep/replica.env", "root:root 644"), ("/etc/lockstep/data.env", "root:root 644"),
                         ("/etc/lockstep/lockstep.yaml", "root:root 644"),
                         ("/var/lib/lockstep", "lockstep:lockstep 700")):
        life.shows(f"{path} is {wanted}", f"stat -c '%U:%G %a' {path}", wanted)
    life.shows("the user is one of the system", "getent passwd lockstep | cut -d: -f6,7",
               "/var/lib/lockstep:/usr/sbin/nologin")
    life.shows("the user's number is one of the system's", "[ $(id -u lockstep) -lt 1000 ] && echo yes", "yes")
    for unit in (UNIT, "lockstep-replica", "lockstep-data"):
        life.shows(f"{unit} is not enabled", f"systemctl is-enabled {unit}", "disabled")
        life.shows(f"{unit} does not run", f"systemctl is-active {unit}", "inactive")
    life.shows("systemd has nothing to say about the units",
               "SYSTEMD_LOG_LEVEL=warning systemd-analyze verify /lib/systemd/system/lockstep-*.service 2>&1", "")
    for program in ("lockstep", "lockstep-lab"):
        done = life.host.run(f"{program} --version")
        life.check(f"{program} runs, and has the package's version",
                   re.match(rf"{program} 0?{re.escape(life.version.split('-')[0])},", done.output), done.text)


def documented(life):
    """Manual pages and completions."""
    pages = life.host.must("dpkg -L lockstep lockstep-lab | grep /man1/.*gz").split()
    commands = re.findall(r"^  (\S+)  +\S", life.host.must("lockstep --help").split("SUBCOMMANDS:")[1], re.MULTILINE)
    named = {f"lockstep-{command}" for command in commands if command != "help"} | {"lockstep", "lockstep-lab"}
    there = {page.split("/")[-1].removesuffix(".1.gz") for page in pages}
    life.check("each command has a manual page", len(commands) > 10 and named <= there, named - there)
    for page in pages:
        done = life.host.root(f"MANWIDTH=80 LC_ALL=C.UTF-8 MANROFFSEQ= man --warnings -l {page} | col -b")
        life.check(f"{page} is shown without a warning", done.status == 0 and not done.error and "NAME" in done.output,
                   done.text)
    shown = life.host.run("MANWIDTH=80 man lockstep-serve | col -b").output
    life.check("man lockstep-serve has the options", "--listen" in shown and "SYNOPSIS" in shown, shown)
    complete = ("source /usr/share/bash-completion/bash_completion && _completion_loader {0}; complete -p {0} && "
                "COMP_WORDS=({0} s) COMP_CWORD=1 COMP_LINE='{0} s' COMP_POINT=$((${{#COMP_LINE}})) COMP_TYPE=9 && "
                "_{0} {0} s {0} && echo \"${{COMPREPLY[@]}}\"")
    for program, word in (("lockstep", "status"), ("lockstep-lab", "simulate")):
        done = life.host.run(complete.format(program))
        life.check(f"bash completes {program}", word in done.output.split(), done.text)
    for program in ("lockstep", "lockstep-lab"):
        for shell, path in (("zsh", f"/usr/share/zsh/vendor-completions/_{program}"),
                            ("fish", f"/usr/share/fish/vendor_completions.d/{program}.fish")):
            # Where the shell is there, it reads the file; elsewhere the file is there.
            done = life.host.root(f"test -s {path} && if command -v {shell} >/dev/null; then {shell} -n {path}; fi")
            life.check(f"{shell} has completions of {program}", done.status == 0, done.text)


def used(life):
    """A node by the packaged unit, as the page says."""
    life.host.must(f"sudo -u lockstep lockstep init --data {DATA} --node node-a")
    life.host.must("echo '# of the operator' >>/etc/lockstep/primary.env")
    life.host.must(f"systemctl enable --now {UNIT}")
    life.host.must(f"sudo -u lockstep lockstep status --data {DATA} --wait 30")
    for number in (1, 2, 3):
        life.shows(f"the node counts {number}", "lockstep counter add visits --timeout 20", str(number))


def upgraded(life):
    """A higher version comes while the node runs and somebody writes."""
    before = life.host.must(f"systemctl show -p MainPID --value {UNIT}").strip()
    life.host.start("while [ ! -e /tmp/enough ]; do lockstep counter add visits --timeout 20 >>/tmp/answers; done")
    life.check("the writer writes", wait_until(lambda: len(answers(life)) > 2, 20, 0.1), answers(life))
    life.install(f"{life.folder}/2")
    shown = life.host.must("dpkg-query -W -f '${Version} ' lockstep lockstep-lab").split()
    life.check("the higher version is installed", len(set(shown)) == 1 and shown[0].endswith("-2"), shown)
    life.shows("the node runs", f"systemctl is-active {UNIT}", "active")
    life.shows("the node is still enabled", f"systemctl is-enabled {UNIT}", "enabled")
    life.check("the upgrade has restarted the node",
               life.host.must(f"systemctl show -p MainPID --value {UNIT}").strip() not in (before, "0"), before)
    life.shows("a unit that did not run does not run", "systemctl is-active lockstep-replica", "inactive")
    life.shows("the operator's line is there", "tail -1 /etc/lockstep/primary.env", "# of the operator")
    life.host.must(f"sudo -u lockstep lockstep status --data {DATA} --wait 30")
    count = len(answers(life))
    life.check("the writer goes on", wait_until(lambda: len(answers(life)) > count + 2, 30, 0.1), answers(life))
    life.host.must("touch /tmp/enough")
    wait_until(lambda: life.host.root("pgrep -u op -f 'counter add'").status != 0, 30, 0.1)
    numbers = answers(life)
    life.check("each answer was one more than the one before", numbers == list(range(4, 4 + len(numbers))), numbers)
    life.check("the sum is that of the answers", life.value() == 3 + len(numbers), life.value())
    life.count = 3 + len(numbers)


def answers(life):
    return [int(word) for word in life.host.root("cat /tmp/answers").output.split()]


def removed(life):
    """The packages are removed, come back, and are purged."""
    done = life.host.root(f"{APT} remove lockstep lockstep-lab", 120)
    life.check("the packages can be removed", done.status == 0, done.text)
    life.shows("no node runs", "pgrep -x lockstep", "")
    life.shows("the programs are gone", "ls /usr/bin/lockstep* /lib/systemd/system/lockstep* 2>/dev/null", "")
    life.shows("the settings are kept", "tail -1 /etc/lockstep/primary.env", "# of the operator")
    life.shows("the folder is kept", f"stat -c %U {DATA}/node.json", "lockstep")
    life.install(f"{life.folder}/2")
    life.host.must(f"systemctl enable --now {UNIT}")
    life.host.must(f"sudo -u lockstep lockstep status --data {DATA} --wait 30")
    life.check("the node goes on where it was", life.value() == life.count, life.value())


def purged(life):
    everything = life.host.must("sed -n '/all of it:$/,$s/^    //p' /usr/share/doc/lockstep/README.Debian")
    done = life.host.root(f"{APT} purge lockstep lockstep-lab", 120)
    life.check("the packages can be purged", done.status == 0, done.text)
    life.shows("no node runs", "pgrep -x lockstep", "")
    life.shows("/etc/lockstep is gone", "ls -d /etc/lockstep 2>/dev/null", "")
    life.shows("no link of systemd is left", "ls /etc/systemd/system/*.wants/lockstep* /etc/systemd/system/lockstep* "
               "/var/lib/systemd/deb-systemd-helper-*/lockstep* 2>/dev/null", "")
    life.shows("the journal is kept", f"ls {DATA}/counters.sqlite", f"{DATA}/counters.sqlite")
    life.check("it is said that the journal is kept", "/var/lib/lockstep is kept" in done.text, done.text)
    life.shows("its owner is kept", f"stat -c %U {DATA}/counters.sqlite", "lockstep")
    done = life.host.root(f"set -e\n{everything}")
    life.check("what README.Debian says removes all of it", done.status == 0 and "sudo rm " in everything, done.text)
    life.shows("the user is gone", "getent passwd lockstep", "")
    life.install(f"{life.folder}/2")
    life.host.must(f"{APT} purge lockstep lockstep-lab", 120)
    life.shows("an empty folder is removed", "ls -d /var/lib/lockstep 2>/dev/null", "")


STAGES = (installed, documented, used, upgraded, removed, purged)


def live(host, folder, version):
    """All stages on a host; what was kept, and what is broken, as text, or None."""
    # The disk of the host is not a part of the packages; what they make of an empty folder is.
    host.must("umount /var/lib/lockstep && rmdir /var/lib/lockstep")
    # A machine that is a container keeps the services of packages from starting and stopping. A host does not.
    host.must("rm -f /usr/sbin/policy-rc.d")
    life = Life(host, folder)
    life.version = version
    for stage in STAGES:
        try:
            stage(life)
        except (Broken, RuntimeError, ValueError) as error:
            return life.kept, f"{stage.__name__}: {error}"
    return life.kept, None
