#!/bin/sh
# One shard of a run: the command of every scheduler that starts so many of them, and starts again one that fails.
#   openfingym-shard INDEX COUNT OUT [option of openfingym rollout]...      INDEX counts from 0; results go to OUT/INDEX
# Status 0: every rollout has a result; a rejected agent is one. 2: the options are wrong. Anything else: run it again, and it goes on.
set -u
index=$1 count=$2 out=$3
shift 3

openfingym rollout --backend sandbox --retry error --shard "$((index + 1))/$count" --out "$out/$index" "$@" &
child=$!
# This shell alone may be told that time is up.
trap 'kill -TERM "$child"' INT TERM
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do  # a signal ended the wait before the child has ended
    wait "$child"
    status=$?
done
[ "$status" -ne 3 ] || status=0
exit "$status"
