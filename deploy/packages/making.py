"""The packages of a test: built once, and taken apart and put together again for a higher version or a planted mistake."""
import glob
import os
import re
import shutil
import subprocess

from namespaces import CannotRun

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = ("lockstep", "lockstep-lab")


def check_machine():
    """Refuses with one line what this machine cannot do."""
    needed = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "lintian": "lintian", "man": "man-db",
              "apt-get": "apt", "chrpath": "chrpath", "dh_bash-completion": "bash-completion"}
    for program, package in needed.items():
        if not shutil.which(program):
            raise CannotRun(f"{program} is missing: install {package} (deploy/setup --package)")


def build(folder):
    """Builds both packages; whether they are of a program that needs the Swift of this machine."""
    os.makedirs(folder)
    program = os.environ.get("LOCKSTEP_PROGRAM")
    # Packed quickly: nobody keeps these.
    environment = {**os.environ, "DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    command = [f"{REPOSITORY}/deploy/package", "--output", folder]
    needs_runtime = False
    if program:
        needs_runtime = "libswiftCore" in subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        command += ["--runtime-of-this-machine"] if needs_runtime else []
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"deploy/package ended with {done.returncode}: {done.stderr.strip()[-1500:]}")
    return needs_runtime


def package(folder, name):
    """The path of a package in a folder."""
    found = glob.glob(f"{folder}/{name}_*.deb")
    if len(found) != 1:
        raise RuntimeError(f"{folder} has not one package of {name}: {found}")
    return found[0]


def version(folder):
    """The version of the packages in a folder."""
    shown = subprocess.run(["dpkg-deb", "--field", package(folder, "lockstep"), "Version"], capture_output=True, text=True,
                           check=True)
    return shown.stdout.strip()


def remade(folder, into, revision, change=None):
    """Both packages as they are in a folder, with another revision; `change` alters what the first of them has."""
    os.makedirs(into)
    for name in NAMES:
        tree = f"{into}/{name}"
        subprocess.run(["dpkg-deb", "--raw-extract", package(folder, name), tree], check=True)
        control = f"{tree}/DEBIAN/control"
        with open(control, encoding="utf-8") as file:
            text = file.read()
        with open(control, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(?m)^(Version: .*-|Depends: .*lockstep \(= [^)]*-)[0-9]+", rf"\g<1>{revision}", text))
        if change and name == NAMES[0]:
            change(tree)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, into], check=True,
                       stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)


def lint(folder, needs_runtime):
    """What lintian finds in the packages, errors and warnings; none if all is well."""
    # The first upload to Debian closes a bug there; these packages are not uploaded.
    ignored = ["initial-upload-closes-no-bugs"]
    # A program of the machine's own Swift is for this test only, and has the path to it.
    ignored += ["custom-library-search-path"] if needs_runtime else []
    found = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "none", "--suppress-tags", ",".join(ignored),
         *[package(folder, name) for name in NAMES]],
        capture_output=True, text=True)
    return [line for line in (found.stdout + found.stderr).splitlines() if re.match("[EW]: ", line)]
