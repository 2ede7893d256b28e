#!/bin/sh
# Runs the resampling bench and, where Python has scipy and krippendorff, the same jobs there.
# Prints milliseconds of both and how many times faster ours is.
#
#   benches/peer_stats.sh                 # python3 from the path
#   PYTHON=.venv/bin/python benches/peer_stats.sh
set -eu
cd "$(dirname "$0")/.."
ours=$(cargo bench --quiet --no-default-features --bench peer_stats)
printf '%s\n' "$ours" | "${PYTHON:-python3}" benches/peer_stats.py || printf '%s\n' "$ours"
