"""Runs in this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import SMALL, command

import slotline as sl

#: A scenario that runs for minutes.
LONG = SMALL.replace('"600ms"', '"1000s"').replace('{ kind = "incast", block = "300KB" }', '{ kind = "bulk" }')


def test_the_command_and_the_library_give_the_same(small: sl.Result, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    done = command("run", file, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert small.digest == summary["engine"]["digest"] and small.id == summary["id"]
    again = sl.open(tmp_path / small.id)
    assert again.digest == small.digest and again.metrics["tcp"] == small.metrics["tcp"]
    saved = small.save(tmp_path / "mine")
    assert (saved / "flows.csv").read_bytes() == (tmp_path / small.id / "flows.csv").read_bytes()
    with pytest.raises(sl.ResultError, match="already holds a result"):
        small.save(tmp_path / "mine")
    with pytest.raises(sl.ResultError, match="not a result"):
        sl.open(tmp_path)


def test_seeds_and_threads_are_arguments() -> None:
    scenario = sl.Scenario.parse(SMALL)
    one, two = (scenario.run(seed=8, repeat=1, threads=threads) for threads in (1, 2))
    assert one.seeds == [8] and one.digest == two.digest
    plain = scenario.replace("scheme", [{"name": "tcp"}])
    assert plain.run(engine="flow").digest != plain.run().digest
    with pytest.raises(ValueError, match="`engine` is"):
        scenario.run(engine="fluid")


def test_progress_is_reported() -> None:
    told: list[tuple[float, int, int]] = []
    sl.Scenario.parse(SMALL).run(progress=lambda *now: told.append(now))
    assert told[-1] == (1.0, 4, 4) and all(0 <= share <= 1 for share, _, _ in told)


def test_an_exception_of_progress_ends_the_run() -> None:
    def refuse(*_: object) -> None:
        raise ArithmeticError("enough")

    with pytest.raises(ArithmeticError, match="enough"):
        sl.Scenario.parse(LONG).run(progress=refuse)


def test_interrupts_end_a_run_in_its_midst() -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(sl.Interrupted) as caught:
        sl.Scenario.parse(LONG).run(threads=1)
    assert caught.value.result is None and isinstance(caught.value, KeyboardInterrupt)
    assert sl.Scenario.parse(SMALL).replace("end.at", "1ms").run().complete


def test_ctrl_c_ends_a_program_and_whole_runs_are_kept() -> None:
    """A signal to another process, as a terminal sends it, after the first of 80 runs."""
    text = SMALL.replace("repeat = 2", "repeat = 40").replace(
        '{ kind = "incast", block = "300KB" }', '{ kind = "poisson", load = 0.4, sizes = "websearch", until = "40ms" }'
    )
    line = [sys.executable, Path(__file__).with_name("interrupted.py")]
    child = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    child.stdin.write(text)
    child.stdin.close()
    while (said := child.stdout.readline()) and not (said.startswith("done") and said.split()[1] != "0"):
        pass
    child.send_signal(signal.SIGINT)
    words = [line.split() for line in child.stdout.read().splitlines()]
    assert child.stderr.read() == "" and child.wait() == 0
    (kept,) = [line for line in words if line[0] == "kept"]
    assert 0 < int(kept[1]) < 80


def test_whole_runs_are_kept() -> None:
    def enough(share: float, done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    # One scheme is quick, and the other one takes minutes.
    text = LONG.replace("[[scheme]]\nname = \"dctcp\"", "[[scheme]]\nname = \"dctcp\"\nrouting = \"ecmp\"")
    scenario = sl.Scenario.parse(text).replace({"end.at": "400ms", "repeat": 6})
    with pytest.raises(sl.Interrupted) as caught:
        scenario.run(threads=1, progress=enough)
    result = caught.value.result
    assert result is not None and 0 < result.runs < 12 and not result.complete
    assert result.metrics["tcp"]["goodput"].n >= 1


def test_other_threads_run_meanwhile() -> None:
    over = threading.Event()
    counted = 0

    def count() -> None:
        nonlocal counted
        while not over.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    sl.Scenario.parse(SMALL).replace("repeat", 400).run(threads=1)
    over.set()
    thread.join()
    assert counted > 5


def test_two_runs_do_not_wait_for_each_other() -> None:
    """Each of two runs waits in its midst until the other one is in its midst, too."""
    both = threading.Barrier(2, timeout=60)
    met: set[threading.Thread] = set()

    def meet(*_: object) -> None:
        if (thread := threading.current_thread()) not in met:
            both.wait()
            met.add(thread)
            raise KeyboardInterrupt

    def work() -> None:
        with pytest.raises(sl.Interrupted):
            sl.Scenario.parse(LONG).run(threads=1, progress=meet)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == set(threads)


def test_nothing_is_printed() -> None:
    script = f"import slotline as sl; sl.Scenario.parse({SMALL!r}).run()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"" and done.stderr == b""


def test_the_import_loads_no_other_package() -> None:
    """Large packages take longer to import than most runs take: they are imported where they are used."""
    loaded = "import sys; known = set(sys.modules); import slotline; print(*set(sys.modules) - known)"
    modules = subprocess.check_output([sys.executable, "-c", loaded], text=True).split()
    others = {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names)
    assert others == {"slotline"}


def test_metrics_compare_schemes(small: sl.Result) -> None:
    goodput = small.metrics["dctcp"]["goodput"]
    assert goodput.unit == "bit/s" and goodput.n == 2 and goodput.ratio is not None
    assert goodput.ratio == pytest.approx(goodput.mean / small.metrics["tcp"]["goodput"].mean, rel=0.05)
    assert str(goodput._replace(mean=5.0, high=6.0, lower_bound=True)) == "≥ 5 ± 1 bit/s"
    assert str(small.metrics["tcp"]["drops"]._replace(mean=3.0, high=None)) == "3"
    comparison = small.compare()
    assert {it.scheme for it in comparison} == {"dctcp"}
    assert "dctcp against tcp" in str(comparison) and "<table" in small._repr_html_()
    assert all(it.verdict == "better" for it in comparison.better)
    with pytest.raises(KeyError, match="there is no scheme `tpc`: there are tcp, dctcp"):
        small.metrics["tpc"]
    with pytest.raises(KeyError, match="there is no metric `fct`: there are "):
        small.metrics["tcp"]["fct"]
    assert "fct" not in small.metrics["tcp"] and small.metrics.get("tpc") is None


def test_a_flow_is_explained(small: sl.Result) -> None:
    assert small.why(0, scheme="dctcp", seed=4).startswith("Flow 0 under dctcp, seed 4:")
    assert "under tcp, seed 3" in small.why()
    with pytest.raises(ValueError, match="no such run"):
        small.why(0, scheme="xco")
    with pytest.raises(ValueError, match="flow -1: flows are numbered from 0"):
        small.why(-1)


def test_a_result_from_the_disk_is_explained(small: sl.Result, tmp_path: Path) -> None:
    again = sl.open(small.save(tmp_path))
    assert again.why(3, seed=4) == small.why(3, seed=4)
