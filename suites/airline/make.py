#!/usr/bin/env python3
"""Makes tasks.jsonl of the airline suite from tau-bench's recorded trials.

    python3 make.py recorded/gpt-4o-airline.json.gz > tasks.jsonl

Needs nothing but Python's standard library; the same file gives the same bytes. One task a line, in
the order of tau-bench's task ids:

input.user      the instruction of the simulated user.
expect.calls    the expected actions, reads too, with their arguments; compared as a super-multiset:
                everything expected was called, and more is allowed. Free text can't be compared word
                for word, so the summary of a transfer and the expression of a calculation are left
                out of the comparison (`compare_args: []`: the call itself is what counts).
                Seven tasks expect no action at all; they have no `calls`.
expect.max_calls  0 for every writing tool in the 20 tasks that expect no write: there the right
                answer is to refuse, to inform or to transfer, and any write is wrong.
metadata        `expects` (write, no_write), `kind` (by the first expected write; without one,
                `transfer` or `none`) and `customer`, the user id.
"""

import gzip
import json
import sys

# Writing tools with the kind of task that they make.
WRITES = {
    "book_reservation": "book",
    "cancel_reservation": "cancel",
    "update_reservation_flights": "update",
    "update_reservation_passengers": "update",
    "update_reservation_baggages": "update",
    "send_certificate": "certificate",
}
# Arguments in free text.
FREE_TEXT = {"transfer_to_human_agents", "calculate"}


def call(action):
    """One expected call."""
    expected = {"name": action["name"], "arguments": action["kwargs"]}
    if action["name"] in FREE_TEXT:
        expected["compare_args"] = []
    return expected


def kind(actions):
    """The kind of a task: by its first expected write, else whether it ends in a transfer."""
    for action in actions:
        if action["name"] in WRITES:
            return WRITES[action["name"]]
    transfers = any(a["name"] == "transfer_to_human_agents" for a in actions)
    return "transfer" if transfers else "none"


def task(number, source):
    """One task of the suite."""
    actions = source["actions"]
    writes = any(a["name"] in WRITES for a in actions)
    expect = {}
    if actions:
        expect["calls"] = [call(a) for a in actions]
        expect["path_mode"] = "superset"
    if not writes:
        expect["max_calls"] = {tool: 0 for tool in WRITES}
    return {
        "id": str(number),
        "input": {"user": source["instruction"]},
        "expect": expect,
        "metadata": {
            "expects": "write" if writes else "no_write",
            "kind": kind(actions),
            "customer": source["user_id"],
        },
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
        records = json.load(file)
    sources = {record["task_id"]: record["info"]["task"] for record in records}
    for number in sorted(sources):
        print(json.dumps(task(number, sources[number]), ensure_ascii=False))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main()
