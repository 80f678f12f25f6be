"""The steps of the install page, up to a statement over TLS."""

import os

from tests.integration.stack.containers import books
from tests.integration.stack.containers.deployment import (
    HOST,
    ORIGIN,
    PROXY_USER,
    RELEASE,
    SERVICE_USER,
    SERVICES,
    InstalledStack,
    calling,
    check_out,
    copy_working_tree,
    write_certificate,
)
from tests.integration.stack.containers.images import build_standins
from tests.support.service.servers import wait_for

SECRETS = """awk '/(SIGNING_KEY|PASSWORD)=$/ { "openssl rand -hex 32" | getline secret; close("openssl rand -hex 32"); $0 = $0 secret } 1' \\
     deploy/.env.example > .env && chmod 600 .env"""  # noqa: E501 - as the page has it
CHECK = "docker compose run --rm --no-deps daemon check"
UP = "docker compose up --detach"
LOAD = "docker compose run --rm daemon load"
BECOMING_HEALTHY = 180.0  # seconds, on a machine that does more besides


def standins(stack: InstalledStack) -> str:
    """The base images are Debian's packages under the names that are asked for."""
    return build_standins(stack.docker, stack.work / "standins")


def checkout(stack: InstalledStack) -> str:
    """A checkout under umask 077, its .env and its certificate."""
    check_out(stack)
    copy_working_tree(stack)
    before = os.umask(0o077)
    try:
        books.write_books(stack.instance)
    finally:
        os.umask(before)
    stack.page(SECRETS)
    tls = stack.tls
    write_certificate(stack, tls / "live.pem", tls / "live.key")
    stack.page("chown 101 KEY && chmod 400 KEY", {"KEY": str(tls / "live.key")})
    stack.fill_in(
        SVC_MCP_TAG=RELEASE,
        SVC_BASE_URL=ORIGIN,
        SVC_INSTANCE_DIR=str(stack.instance),
        TLS_CERTIFICATE=str(tls / "live.pem"),
        TLS_CERTIFICATE_KEY=str(tls / "live.key"),
    )
    assert (tls / "live.key").stat().st_uid == PROXY_USER
    return HOST


def images(stack: InstalledStack) -> str:
    """Both images are built from the Dockerfiles unchanged."""
    tag = stack.setting("SVC_MCP_TAG")
    if stack.shell("docker buildx version", check=False).status == 0:
        stack.page("docker compose build")
    else:  # which `docker compose build` takes, and Debian has not
        model = stack.shell("docker compose config --images").out.split()
        (identity,) = (name for name in model if name.startswith("tieout-identity:"))
        stack.shell(f"DOCKER_BUILDKIT=1 docker build --quiet --tag {identity} deploy/identity")
        stack.shell(f"DOCKER_BUILDKIT=1 docker build --quiet --file deploy/Dockerfile --tag tieout:{tag} .")
    size = int(stack.docker("image", "inspect", "--format={{.Size}}", f"tieout:{tag}"))
    return f"tieout:{tag}, {size / 1e6:.0f} MB"


def unreadable_instance(stack: InstalledStack) -> str:
    """An instance that user 10001 cannot read is named by check, serve and daemon, with the way out."""
    told = {"check": stack.page(CHECK, check=False)}
    for service, command in (("server", "serve"), ("daemon", "daemon")):
        told[command] = stack.shell(f"docker compose run --rm --no-deps {service} {command}", check=False)
    for command, ran in told.items():
        assert ran.status != 0, command
        assert "Traceback" not in ran.told, (command, ran.told)
        assert "may not be read" in ran.told, (command, ran.told)
        assert "chmod -R go+rX" in ran.told, (command, ran.told)
    said = next(line for line in told["check"].told.splitlines() if "may not be read" in line)
    stack.page("chmod -R go+rX deploy FOLDER", {"FOLDER": str(stack.instance)})
    return said.strip()


def checked(stack: InstalledStack) -> str:
    """What everybody may read is checked in the image, without Tieout on the host."""
    return stack.page(CHECK).out.strip().splitlines()[-1]


def brought_up(stack: InstalledStack) -> str:
    """compose.yaml as written comes up, every service healthy."""
    os.chown(stack.folder / "backups", SERVICE_USER, SERVICE_USER)
    stack.page(UP)
    wait_for(lambda: not unhealthy(stack), BECOMING_HEALTHY)
    return ", ".join(SERVICES)


def unhealthy(stack: InstalledStack) -> dict[str, str]:
    """Return the services that do not run, or are not healthy as far as they tell."""
    found = {}
    for service in SERVICES:
        states = [stack.state(container)["State"] for container in stack.containers(service)]
        ends = [state for state in states if state.get("Health", {"Status": "healthy"})["Status"] != "healthy"]
        ends += [state for state in states if not state["Running"] or state["Restarting"]]
        if ends or not states:
            found[service] = str(ends)
    return found


def loaded(stack: InstalledStack) -> str:
    """The books are loaded."""
    return stack.page(LOAD).out.strip().splitlines()[-1]


def readyz(stack: InstalledStack) -> str:
    """/readyz of the operators: every check is ok and none has a note."""

    def sees_the_books() -> bool:
        return "note" not in stack.ready()["checks"]["analytical_store"]

    wait_for(sees_the_books)
    told = stack.ready()
    expected = {"relational_database", "analytical_store", "cache_store", "artifacts", "workers"}
    assert told["status"] == "ok", told
    assert {name for name, check in told["checks"].items() if check["status"] == "ok"} == expected, told
    assert not [check for check in told["checks"].values() if "note" in check], told
    assert told["identity_provider"]["status"] == "ok"
    return ", ".join(sorted(expected))


def statement(_: InstalledStack) -> str:
    """A token and a statement over TLS, as arithmetic has it; and cut to a profile."""
    with calling() as caller:
        assert books.figures(caller) == books.expected()
    with calling("european") as caller:
        assert books.figures(caller) == books.expected("EU")
    with calling("stranger") as caller:
        assert caller.call("run_statement", **books.PNL).is_error
    actual, budget = books.expected()
    return f"actual {actual:,}, budget {budget:,}"


STEPS = (checkout, images, unreadable_instance, checked, brought_up, loaded, readyz, statement)
