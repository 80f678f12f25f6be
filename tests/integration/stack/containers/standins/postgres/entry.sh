# As the image of PostgreSQL: an empty volume gets a cluster, and what lies in /docker-entrypoint-initdb.d runs in a
# server that listens on its socket alone.
set -eu
data=/var/lib/postgresql/18/docker
if [ ! -s "$data/PG_VERSION" ]; then
  mkdir -p "$data"
  printf %s "$POSTGRES_PASSWORD" > /tmp/superuser
  initdb --pgdata="$data" --username=postgres --pwfile=/tmp/superuser --auth-local=trust --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/superuser
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
  pg_ctl --pgdata="$data" --wait --options='-c listen_addresses= -c unix_socket_directories=/run/postgresql' start
  for file in /docker-entrypoint-initdb.d/*; do
    psql --username postgres --set ON_ERROR_STOP=1 --file "$file"
  done
  pg_ctl --pgdata="$data" --wait --mode=fast stop
fi
exec "$@" -D "$data" -c 'listen_addresses=*' -c unix_socket_directories=/run/postgresql
