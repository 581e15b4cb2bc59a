"""A program that is interrupted: `test_run.py` starts it. It prints what it kept, and when the exception came."""

import sys
import time

import slotline as sl

scenario = sl.Scenario.parse(sys.stdin.read())
print("ready", flush=True)
try:
    scenario.run(threads=1, progress=lambda share, done, of: print("done", done, flush=True))
except sl.Interrupted as stopped:
    caught = time.monotonic()
    result = stopped.result
    print("kept", 0 if result is None else result.runs, caught, flush=True)
