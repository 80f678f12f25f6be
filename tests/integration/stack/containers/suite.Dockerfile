# A machine with git, make and Python, without the programs that `make ci-deps` installs, and an ordinary user.
ARG DEBIAN
FROM ${DEBIAN}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm /usr/bin/openssl /usr/sbin/nginx \
    && useradd --create-home --home-dir /srv/newcomer --uid 4242 newcomer
USER newcomer
WORKDIR /srv/newcomer
