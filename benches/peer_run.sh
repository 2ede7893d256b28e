#!/bin/sh
# Runs the same one-call trials through promptfoo, Inspect and `assize run` against one local
# `assize endpoint`, and wrk against it too; prints trials per second, peak memory and ratios.
# No part of continuous integration: it takes minutes and measures the machine as it is.
#
#   benches/peer_run.sh                    # all of it, at 64 connections
#   CONNECTIONS=256 benches/peer_run.sh
#   ONLY="assize wrk" benches/peer_run.sh  # of: promptfoo inspect assize wrk steps
#   PEERS=folder benches/peer_run.sh       # where peers are kept between runs
#
# Needs: cargo (a build with the profile `dist`, some minutes), Python 3.10 or later with venv, and for the peers node
# 20.20 or later with npm, wrk, and registries that can be reached. A peer that cannot be installed is
# left out with a word. Everything is written under $PEERS, which should lie on a real disk: trials are
# stored durably.
set -eu
cd "$(dirname "$0")/.."
peers=${PEERS:-${TMPDIR:-/tmp}/assize-peers}
mkdir -p "$peers"

cargo build --quiet --profile dist --no-default-features --bin assize

wanted() { case " ${ONLY:-promptfoo inspect assize wrk steps} " in *" $1 "*) true ;; *) false ;; esac; }

if wanted promptfoo && ! [ -e "$peers/node_modules/.bin/promptfoo" ]; then
    (cd "$peers" && npm install --no-save --no-audit --no-fund --silent promptfoo) ||
        echo "promptfoo could not be installed" >&2
fi
if wanted inspect && ! [ -e "$peers/venv/bin/inspect" ]; then
    { "${PYTHON:-python3}" -m venv "$peers/venv" &&
        "$peers/venv/bin/pip" install --quiet inspect-ai openai; } ||
        echo "Inspect could not be installed" >&2
fi
if wanted wrk && ! command -v wrk >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq wrk; } >/dev/null || echo "wrk could not be installed" >&2
fi

exec "${PYTHON:-python3}" benches/peer_run.py target/dist/assize "$peers"
