"""HTTP of a primary whose address for it comes later."""
import time

from namespaces import wait_until

from .operating import PAGE, add, await_phase, unit_log
from .trouble import UNIT

LATER = "10.0.0.11"


def restart(host, unit, options):
    """Restarts a node with further options, or with what it had before."""
    settings = f"/etc/lockstep/{unit.removeprefix('lockstep-')}.env"
    kept = f"/tmp/{unit}.env"
    host.must(f"cp {settings} {kept} && sed -i '/^LOCKSTEP_OPTIONS=/s/$/ {options}/' {settings}" if options
              else f"mv {kept} {settings}")
    host.must(f"systemctl restart {unit}")


def late(book, a):
    """The end of section 5: the addresses of a primary's HTTP come after its start."""
    section = book.section(PAGE, "5. Each replica")
    section.says("The addresses of `--http` and `--search-http` are waited for likewise; the node serves meanwhile.")
    faces = (f"http://{LATER}:9100/metrics", f"http://{LATER}:8080/health")

    def answers(face):
        return a.root(f"curl -sf --max-time 1 {face}").status == 0

    restart(a, UNIT, f"--http {LATER}:9100 --search-http {LATER}:8080")
    try:
        await_phase(a, "admitting")
        text = section.says("waiting for the address to listen at")
        book.check(section, "the log says that both addresses are waited for", wait_until(
            lambda: unit_log(a, UNIT).count(text) == 2, 5, 0.1), unit_log(a, UNIT))
        book.check(section, "the node serves meanwhile", add(a) > 0 and not any(map(answers, faces)))
        began = time.monotonic()
        a.ip("address", "add", f"{LATER}/32", "dev", "eth0")
        book.check(section, "HTTP answers at its address",
                   all(wait_until(lambda face=face: answers(face), 15, 0.1) for face in faces), unit_log(a, UNIT))
        book.takes(section, "starts within {} of the address", time.monotonic() - began)
        book.check(section, "the node has not ended for it",
                   "NRestarts=0" in a.must(f"systemctl show -p NRestarts {UNIT}"))
    finally:
        restart(a, UNIT, None)
        a.root(f"ip address del {LATER}/32 dev eth0")
    await_phase(a, "admitting")
