"""A program that is interrupted: `test_run.py` starts it. It prints what it kept."""

import sys

import slotline as sl

scenario = sl.Scenario.parse(sys.stdin.read())
print("ready", flush=True)
try:
    scenario.run(threads=1, progress=lambda share, done, of: print("done", done, flush=True))
except sl.Interrupted as stopped:
    result = stopped.result
    print("kept", 0 if result is None else result.runs, flush=True)
