"""HTTP: of a primary whose address for it comes later, and of a replica whose primary is away."""
import re
import time

from namespaces import wait_until

from .operating import PAGE, add, await_phase, unit_log
from .trouble import UNIT

FOLLOWER = "lockstep-replica"
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
            lambda: unit_log(a, UNIT).count(text) == 2, 20, 0.1), unit_log(a, UNIT))
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


def found(book, section, done, promise):
    book.check(section, promise, done.output.startswith("HTTP/1.1 200 ") and "a.txt" in done.output, done.text)


def away(book, a, b):
    """docs/SEARCH.md: a replica's searches over HTTP, when its primary has gone."""
    section = book.section("docs/SEARCH.md", "What it decides, and where")
    section.says("What is in memory is found. What is not ends at once with `unavailable`, over HTTP with 503 and "
                 "`Retry-After`")
    ask = "curl -si --max-time 20 'http://127.0.0.1:8080/search?q={}'"
    restart(b, FOLLOWER, "--search-http 127.0.0.1:8080")
    try:
        await_phase(b, "live")
        # HTTP may begin later than the node is live.
        wait_until(lambda: b.root("curl -s --max-time 5 http://127.0.0.1:8080/health").status == 0, 20, 0.2)
        found(book, section, b.run(ask.format("licence")), "a search finds the text")
        a.must(f"systemctl stop {UNIT}")
        for word in ("never", "unheard"):
            done = b.run(ask.format(word))
            later = re.search(r"^retry-after: \d", done.output, re.MULTILINE | re.IGNORECASE)
            book.check(section, "what is not in memory ends with 503 and Retry-After",
                       done.output.startswith("HTTP/1.1 503 ") and later, done.text)
            book.check(section, "it says that the primary is away", '"error":"unavailable"' in done.output
                       and "the primary is away" in done.output, done.text)
            book.takes(section, "after {} of silence at the latest", done.seconds)
        found(book, section, b.run(ask.format("licence")), "what is in memory is found")
    finally:
        a.root(f"systemctl start {UNIT}")
        restart(b, FOLLOWER, None)
    await_phase(a, "admitting")
    await_phase(b, "live")
