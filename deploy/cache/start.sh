#!/bin/sh
# Starts Valkey with the configuration beside this file and one user, whose password comes from the environment:
# start.sh FOLDER writes both to a file in FOLDER that only this user can read.
set -eu
umask 077
{
    cat "$(dirname "$0")/valkey.conf"
    echo "dir $1"
    echo "user default off"
    echo "user tieout on >${CACHE_PASSWORD:?} resetchannels ~{ds:* ~{sem}* +@all -@admin -@dangerous +info"
} > "$1/valkey.conf"
exec valkey-server "$1/valkey.conf"
