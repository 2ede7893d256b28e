"""Measures promptfoo, Inspect, wrk and `assize run` against one scripted endpoint; see peer_run.sh."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

CONNECTIONS = int(os.environ.get("CONNECTIONS", "64"))
TRIALS = 2_000
OURS = [TRIALS, 20_000, 100_000]
# Trials at other numbers of connections.
STEPS = [(1, 2_000), (8, 20_000), (256, 20_000), (1_000, 20_000)]
WRK_S = 5
TASKS = 100
QUESTION = "What is the capital of the country number {}?"
ANSWER = "The capital is Paris."

SCRIPT = {
    "format": 1,
    "models": {name: {"default": {"turns": [{"say": ANSWER}]}} for name in ("first", "second")},
}


class Endpoint:
    """`assize endpoint` while it runs."""

    def __init__(self, binary, folder):
        script = folder / "script.json"
        script.write_text(json.dumps(SCRIPT))
        self.process = subprocess.Popen(
            [binary, "endpoint", "--script", script], stdout=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().split()[-1]

    def peak_mb(self):
        status = Path(f"/proc/{self.process.pid}/status")
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
        return int(found[1]) / 1024 if found else None

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Ran:
    """A command that has ended: its time, its peak memory, what it said."""

    def __init__(self, command, folder, ok=(0,), **more):
        env = {**os.environ, **more}
        with tempfile.TemporaryFile() as out:
            start = time.perf_counter()
            process = subprocess.Popen(
                [str(part) for part in command], cwd=folder, env=env, stdout=out, stderr=out
            )
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.said = out.read().decode(errors="replace")
        self.cpu = usage.ru_utime + usage.ru_stime
        # Kilobytes on Linux, bytes on macOS.
        self.peak_mb = usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
        if process.returncode not in ok:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {self.said[-800:]}")


def read(place, wanted):
    """Parts of a JSON file, read by a process of its own: a child inherits our peak memory as its least."""
    code = f"import json; found = json.load(open({str(place)!r})); print(json.dumps({wanted}))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def show(name, trials, executing, ran):
    phase = f"{trials / executing:9.0f}" if executing else "        ?"
    print(
        f"{name:<28}{trials:>8} trials {phase} /s executing {trials / ran.seconds:9.0f} /s in all"
        f" {ran.peak_mb:6.0f} MB  {ran.cpu:6.1f} s of processor",
        flush=True,
    )
    return trials / (executing or ran.seconds)


def promptfoo(url, peers, folder):
    node = peers / "node_modules/promptfoo"
    if not node.exists():
        return None
    place = folder / "promptfoo"
    place.mkdir()
    tests = [
        {"vars": {"q": QUESTION.format(i)}, "assert": [{"type": "contains", "value": "Paris"}]}
        for i in range(TRIALS)
    ]
    provider = {"id": "openai:chat:first", "config": {"apiBaseUrl": f"{url}/v1", "apiKey": "none"}}
    config = {"prompts": ["{{q}}"], "providers": [provider], "tests": tests}
    (place / "config.json").write_text(json.dumps(config))
    program = json.loads((node / "package.json").read_text())["bin"]["promptfoo"]
    quiet = {f"PROMPTFOO_DISABLE_{what}": "1" for what in ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")}
    # Some versions fall over their own log file at the very end; the results count, and are checked.
    ran = Ran(
        ["node", node / program, "eval", "-c", "config.json", "-j", CONNECTIONS, "--no-cache",
         "--no-table", "--no-progress-bar", "-o", "out.json"],
        place, ok=(0, 1), PROMPTFOO_CONFIG_DIR=str(place / "home"), **quiet,
    )
    stats = read(place / "out.json", 'found["results"]["stats"]')
    check(stats["successes"] == TRIALS, f"promptfoo: {stats}")
    return show("promptfoo", TRIALS, stats["durationMs"] / 1e3, ran)


def inspect(url, peers, folder):
    program = peers / "venv/bin/inspect"
    if not program.exists():
        return None
    place = folder / "inspect"
    place.mkdir()
    (place / "one_call.py").write_text(
        "from inspect_ai import Task, task\n"
        "from inspect_ai.dataset import MemoryDataset, Sample\n"
        "from inspect_ai.scorer import includes\n\n\n"
        "@task\ndef one_call():\n"
        f"    asked = [Sample(input={QUESTION!r}.format(i), target='Paris') for i in range({TRIALS})]\n"
        "    return Task(dataset=MemoryDataset(asked), scorer=includes())\n"
    )
    ran = Ran(
        [program.absolute(), "eval", "one_call.py", "--model", "openai/first", "--model-base-url", f"{url}/v1",
         "-M", "responses_api=false", "--max-connections", CONNECTIONS, "--max-samples", CONNECTIONS,
         "--display", "none", "--log-dir", "logs", "--log-format", "json"],
        place, OPENAI_API_KEY="none", INSPECT_EVAL_LOG_FILE_PATTERN="log",
    )
    log = next((place / "logs").glob("*.json"))
    status, done, stats = read(log, '[found["status"], found["results"]["completed_samples"], found["stats"]]')
    check(status == "success" and done == TRIALS, f"Inspect: {status}, {done} done")
    times = [datetime.fromisoformat(stats[key]) for key in ("started_at", "completed_at")]
    return show("Inspect", TRIALS, (times[1] - times[0]).total_seconds(), ran)


def suite(url, folder):
    """A suite of one-call tasks with two chat arms at the endpoint."""
    place = folder / "suite"
    place.mkdir()
    (place / "suite.yaml").write_text(
        json.dumps(
            {
                "format": 1, "id": "one-call", "version": "1", "data": "synthetic",
                "expect": {"final_schema": {"type": "string", "pattern": "Paris"}},
                "decision": {"baseline": "first", "candidate": "second", "margins": {"outcome": 0.05},
                             "rules": [{"dimension": "outcome", "rule": "non_inferior"}]},
            }
        )
    )
    tasks = [{"id": f"country-{i}", "input": {"user": QUESTION.format(i)}} for i in range(TASKS)]
    (place / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    arms = {name: {"kind": "chat", "base_url": f"{url}/v1", "model": name} for name in SCRIPT["models"]}
    (place / "arms.yaml").write_text(json.dumps({"format": 1, "arms": arms}))
    return place


def assize(binary, suite_dir, folder, trials, connections):
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    ran = Ran(
        [binary, "run", suite_dir, "-k", trials // TASKS // 2, "--concurrency", connections, "--out", run],
        folder, ok=(0, 3),
    )
    said = re.search(r"(\d+) trials in ([\d.]+) s \((\d+) per second\): 0 failed by themselves, 0 excluded", ran.said)
    check(said and int(said[1]) == trials, f"assize: {ran.said[-800:]}")
    name = "assize" if connections == CONNECTIONS else f"assize, {connections} connections"
    # The rate in whole trials is exact where the time in tenths is not.
    return show(name, trials, trials / int(said[3]), ran)


def wrk(url, folder):
    if not shutil.which("wrk"):
        return None
    body = {"model": "first", "messages": [{"role": "user", "content": QUESTION.format(1)}]}
    script = folder / "post.lua"
    script.write_text(
        f'wrk.method = "POST"\nwrk.body = [==[{json.dumps(body)}]==]\n'
        'wrk.headers["Content-Type"] = "application/json"\n'
    )
    ran = Ran(
        ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{WRK_S}s", "-s", script, f"{url}/v1/chat/completions"], folder
    )
    check("Non-2xx" not in ran.said and "Socket errors" not in ran.said, f"wrk: {ran.said}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", ran.said)[1])
    print(f"{'wrk':<28}{'':>8}        {rate:9.0f} requests /s", flush=True)
    return rate


def check(holds, what):
    if not holds:
        raise RuntimeError(what)


def main():
    binary, peers = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    wanted = os.environ.get("ONLY", "promptfoo inspect assize wrk steps").split()
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=peers))
    endpoint = Endpoint(binary, folder)
    try:
        measure(wanted, binary, peers, folder, endpoint)
    finally:
        endpoint.stop()
        shutil.rmtree(folder, ignore_errors=True)


def measure(wanted, binary, peers, folder, endpoint):
    url = endpoint.url
    print(f"{CONNECTIONS} connections, {os.cpu_count()} processors", flush=True)
    suite_dir = suite(url, folder)
    others = {"promptfoo": None, "Inspect": None}
    if "promptfoo" in wanted:
        others["promptfoo"] = promptfoo(url, peers, folder)
    if "inspect" in wanted:
        others["Inspect"] = inspect(url, peers, folder)
    # wrk before and after ours, as a machine is not equally busy all the time.
    rates = [wrk(url, folder)] if "wrk" in wanted else []
    ours = []
    if "assize" in wanted:
        ours = [assize(binary, suite_dir, folder, trials, CONNECTIONS) for trials in OURS]
    rates += [wrk(url, folder)] if "wrk" in wanted else []
    rates = [rate for rate in rates if rate]
    others["wrk"] = sum(rates) / len(rates) if rates else None
    for trials, own in zip(OURS, ours):
        said = [f"{own / rate:.3g} × {name}" for name, rate in others.items() if rate]
        print(f"assize executing {trials} trials is {', '.join(said)}" if said else "")
    if "steps" in wanted:
        for connections, trials in STEPS:
            assize(binary, suite_dir, folder, trials, connections)
    print(f"peak memory of the endpoint: {endpoint.peak_mb():.0f} MB")


main()
