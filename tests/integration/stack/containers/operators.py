"""What operators do: a backup and its restore, scheduled backups, an upgrade."""

from tests.integration.stack.containers import books
from tests.integration.stack.containers.checks import COMING_BACK, answers
from tests.integration.stack.containers.deployment import CLIENTS, RELEASE, TOKENS, InstalledStack, calling
from tests.integration.stack.containers.install import LOAD, UP, images, unhealthy
from tests.support.service.servers import wait_for

BACKUP = "tieout-2025-09-30.tar"
MADE = "docker compose run --rm backup /backups/tieout-2025-09-30.tar"
RESTORE = r"""docker compose stop server daemon
docker compose exec database createdb --username postgres --owner tieout --template template0 restored
docker compose run --rm --env DATABASE_URL=postgresql://tieout:PASSWORD@database:5432/restored --entrypoint python \
  backup scripts/restore.py /backups/tieout-2025-09-30.tar /backups/restored
docker compose exec database psql --username postgres \
  --command 'revoke connect, temporary on database restored from public' \
  --command 'alter database tieout rename to before' --command 'alter database restored rename to tieout'
docker run --rm --volume tieout_books:/books --volume tieout_files:/files --volume "$PWD/backups/restored:/restored:ro" \
  --entrypoint sh tieout:0.3.0 -c 'rm -rf /books/* /files/* && cp -R /restored/store /books/ && cp -R /restored/files/. /files/'
docker compose start server daemon
"""  # noqa: E501 - as the page has it
LEFT = ("docker compose exec database dropdb --username postgres before", "rm -r backups/restored")
MAY_CONNECT = "select has_database_privilege('identity', 'tieout', 'connect')"
VERIFY = r"""make verify-upgrade ARGS="--base-url https://reports.example.com \
     --migrations 'docker compose run --rm migrate --status'" """.rstrip()
LENIENCE = 31  # seconds; the server accepts an expired token for 30


def restored(stack: InstalledStack) -> str:
    """A backup, a load after it, a restore by the page's commands: figures and history are those of the backup."""
    stack.page(MADE)
    with calling() as caller:
        history = books.loads(caller)
    books.add_row(stack.instance)
    stack.page(LOAD)
    actual, budget = books.expected()
    with calling() as caller:
        assert books.figures(caller) == [actual + books.MORE, budget]
        assert len(books.loads(caller)) > len(history)
    password = stack.setting("TIEOUT_DATABASE_PASSWORD")
    stack.page(RESTORE.strip(), {"PASSWORD": password, "tieout:0.3.0": f"tieout:{RELEASE}"})
    wait_for(answers, COMING_BACK)
    with calling() as caller:
        assert books.loads(caller) == history
    asked = f'docker compose exec database psql --username postgres --tuples-only --command "{MAY_CONNECT}"'
    assert stack.shell(asked).out.split() == ["f"]
    for command in LEFT:
        stack.page(command)
    return f"{len(history)} loads, and the role identity may not connect"


def scheduled_backup(stack: InstalledStack) -> str:
    """The daemon takes a scheduled backup, at once on its first start."""
    stack.fill_in(SVC_BACKUP_DIR="/backups")
    stack.page(UP)
    folder = stack.folder / "backups"
    wait_for(lambda: any(folder.glob("tieout-scheduled-*.tar")), COMING_BACK)
    (made,) = folder.glob("tieout-scheduled-*.tar")
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    return f"{made.name}, {made.stat().st_size:,} bytes"


def upgraded(stack: InstalledStack) -> str:
    """An upgrade to another tag by the page's steps; make verify-upgrade passes."""
    stack.fill_in(SVC_MCP_TAG=f"{RELEASE}-next")
    images(stack)
    stack.page(UP)
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    more = {"--base-url": f"--ca {stack.authority.file} --lenience {LENIENCE} --base-url"}
    client = {"SVC_CLIENT_ID": "verifier", "SVC_CLIENT_SECRET": CLIENTS["verifier"]["secret"]}
    told = stack.page(VERIFY, more, SVC_OIDC_TOKEN_URL=TOKENS, **client).out.splitlines()
    assert not [line for line in told if line.startswith("FAILED")], told
    assert any(line.startswith("ok") and "expired access token" in line for line in told), told
    (container,) = stack.containers("server")
    assert stack.state(container)["Config"]["Image"] == f"tieout:{RELEASE}-next"
    return f"{sum(line.startswith('ok') for line in told)} steps ok"
