"""Parameter studies."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import pytest
from conftest import ROOT, SMALL, STUDY, command

import slotline as sl


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> sl.Study:
    file = tmp_path_factory.mktemp("study") / "study.toml"
    file.write_text(STUDY)
    return sl.Study.load(file)


@pytest.fixture(scope="module")
def expected(study: sl.Study, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table that the command makes, one point after the other."""
    out = tmp_path_factory.mktemp("command")
    done = command("sweep", study.path, "--out", out, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    return Path(out, study.id, "sweep.csv").read_text()


def test_a_study_has_points(study: sl.Study) -> None:
    assert len(study) == 6 and study.parameters == {"hosts": "fabric.hosts", "block": "workload[0].block"}
    assert study.settings(3) == "hosts = 5, block = 60KB"
    assert study[3].fabric == "star of 5 hosts and 1 switch"
    with pytest.raises(IndexError, match="points 0 to 5"):
        study[6]
    with pytest.raises(sl.ScenarioError, match="no `sweep`"):
        sl.Study.parse(SMALL)


def test_threads_give_the_same_as_the_command(study: sl.Study, expected: str, tmp_path: Path) -> None:
    told: list[tuple[float, int, int]] = []
    done = sl.sweep(study, out=tmp_path, progress=lambda *now: told.append(now))
    assert done.complete and not done.failed and done.rows() == expected
    assert told[-1] == (1.0, 6, 6)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/summary.json")}
    assert sl.sweep(study, out=tmp_path).complete
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/summary.json")} == before
    assert sl.collect(tmp_path, out=tmp_path / "joined").rows() == expected


def test_whole_results_can_be_kept(study: sl.Study, tmp_path: Path) -> None:
    assert sl.sweep(study, out=tmp_path, keep="result").complete
    assert len(sl.open(tmp_path / study[0].id).flows) > 0


def children(of: int) -> list[int]:
    """The processes that `of` has started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(of)], capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]


#: In the command line of a process that runs one point.
SERVES = "slotline.study"


class Killer(threading.Thread):
    """Kills a random process that this one has started, again and again."""

    def __init__(self, every: float, most: int) -> None:
        super().__init__(daemon=True)
        self.every, self.most, self.killed = every, most, 0
        self.over = threading.Event()

    def run(self) -> None:
        while self.killed < self.most and not self.over.wait(self.every):
            own = [child for child in children(os.getpid()) if SERVES in words(child) or "spawn_main" in words(child)]
            if own:
                try:
                    os.kill(random.choice(own), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass


def words(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


@pytest.mark.parametrize("how", ["processes", "pool"])
def test_killed_workers_cost_only_time(how: str, study: sl.Study, expected: str, tmp_path: Path) -> None:
    def pool() -> Executor:
        return ProcessPoolExecutor(2, mp_context=get_context("spawn"))

    # Processes of points end soon. The workers of a pool must have started.
    killer = Killer(0.05 if how == "pool" else 0.005, 3)
    killer.start()
    done = sl.sweep(study, out=tmp_path, executor=pool if how == "pool" else "processes", retries=20, jobs=2)
    killer.over.set()
    killer.join()
    assert killer.killed > 0, "nothing was killed"
    assert done.complete and done.rows() == expected
    if how == "processes":
        assert not [child for child in children(os.getpid()) if SERVES in words(child)], "processes remain"


def test_a_store_gets_whole_points_though_uploads_fail(study: sl.Study, expected: str) -> None:
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    failed = 0
    chance = random.Random(1)

    class Flaky(MemoryFileSystem):  # type: ignore[misc]
        """Every tenth file is cut off, with an error."""

        protocol = "flaky"
        cachable = False

        def pipe_file(self, path: str, value: bytes, **more: object) -> None:
            nonlocal failed
            if chance.random() < 0.1:
                failed += 1
                super().pipe_file(path, value[: len(value) // 2], **more)
                raise OSError("connection lost")
            super().pipe_file(path, value, **more)

    fsspec.register_implementation("flaky", Flaky, clobber=True)
    done = sl.sweep(study, out="flaky://results/here", keep="result")
    assert failed > 0 and done.complete and done.rows() == expected
    assert sl.sweep(study, out="flaky://results/here").rows() == expected


def test_processes_run_points_of_studies_without_a_file_into_stores(expected: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    done = sl.sweep(sl.Study.parse(STUDY), out=f"file://{tmp_path}/store", executor="processes")
    assert done.complete and done.rows() == expected
    assert len(list(Path(tmp_path, "store").glob("small-*/summary.json"))) == 6


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_wrong_point_fails_alone(executor: Literal["threads", "processes"], tmp_path: Path) -> None:
    study = sl.Study.parse(STUDY.replace("[3, 5, 9]", "[0, 5, 9]"))
    done = sl.sweep(study, out=tmp_path, executor=executor)
    assert not done.complete and sorted(done.failed) == [0, 1]
    assert "hosts" in done.failed[0] and done.rows().count(",goodput,") == 8


def test_a_sweep_that_is_stopped_keeps_what_is_done(study: sl.Study, expected: str, tmp_path: Path) -> None:
    def enough(share: float, done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.sweep(study, out=tmp_path, jobs=1, progress=enough)
    assert 0 < len(list(tmp_path.glob("*/summary.json"))) <= 6
    assert not list(tmp_path.glob(".*.partial"))
    assert sl.sweep(study, out=tmp_path).rows() == expected


def test_one_point_is_a_command(study: sl.Study, expected: str, tmp_path: Path) -> None:
    for at in range(len(study)):
        done = command("point", study.path, at, "--out", tmp_path, "--keep", "summary")
        assert done.returncode == 0, done.stderr
        (line,) = done.stdout.splitlines()
        record = json.loads(line)
        assert (record["point"], record["state"], record["id"]) == (at, "done", study[at].id)
        assert sorted(file.name for file in Path(tmp_path, record["id"]).iterdir()) == ["scenario.toml", "summary.json"]
    assert sl.sweep(study, out=tmp_path).rows() == expected
    wrong = command("point", study.path, 6, "--out", tmp_path)
    assert wrong.returncode == 2 and "points are numbered 0 to 5" in wrong.stderr


def test_a_point_that_is_interrupted_ends_with_130(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    text = STUDY.replace('"600ms"', '"1000s"').replace('"incast", block = "300KB"', '"bulk"')
    file.write_text(text.replace('"workload[0].block" = ["30KB", "60KB"]', ""))
    line = [sys.executable, "-m", "slotline", "point", str(file), "0", "--out", str(tmp_path)]
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=20)
    assert child.returncode == 130 and json.loads(said)["state"] == "missing"


def test_dask_runs_points(study: sl.Study, expected: str, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            killer = threading.Timer(1.0, partial(kill_worker, cluster))
            killer.start()
            done = sl.sweep(study, out=tmp_path, executor=client.get_executor(), retries=20)
            killer.cancel()
    assert done.complete and done.rows() == expected


def kill_worker(cluster: object) -> None:
    worker = random.choice(list(cluster.workers.values()))  # type: ignore[attr-defined]
    os.kill(worker.process.pid, signal.SIGKILL)


def test_ray_runs_points(study: sl.Study, expected: str, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    from slotline.ray import RayExecutor

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        done = sl.sweep(study, out=tmp_path, executor=RayExecutor())
    finally:
        ray.shutdown()
    assert done.complete and done.rows() == expected


def test_submitit_runs_points(study: sl.Study, expected: str, tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit")
    from slotline.submitit import SubmititExecutor

    jobs = submitit.LocalExecutor(folder=tmp_path / "log")
    done = sl.sweep(study, out=tmp_path / "results", executor=SubmititExecutor(jobs))
    assert done.complete and done.rows() == expected
    wrong = sl.Study.parse(STUDY.replace("[3, 5, 9]", "[0]"))
    failed = sl.sweep(wrong, out=tmp_path / "results", executor=SubmititExecutor(jobs)).failed
    assert sorted(failed) == [0, 1] and "`hosts` = 0 must be from 1 to 65535" in failed[0]


def test_the_job_of_kubernetes_is_valid_and_runs_points(study: sl.Study, expected: str, tmp_path: Path) -> None:
    """Its schema, and its command for each index, with folders of this machine."""
    validate = pytest.importorskip("kubernetes_validate")
    yaml = pytest.importorskip("yaml")
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/python/sweep.md").read_text("utf-8"), re.DOTALL)
    job = yaml.safe_load(text)
    validate.validate(job, validate.latest_version(), strict=True)
    assert job["spec"]["completions"] == len(study)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    places = {"/study/study.toml": str(study.path), "/results": str(tmp_path), "slotline": f"{sys.executable} -m slotline"}
    *shell, line = container["command"]
    for inside, here in places.items():
        line = line.replace(inside, here)
    for index in range(len(study)):
        environment = {**os.environ, "JOB_COMPLETION_INDEX": str(index)}
        subprocess.run([*shell, line], check=True, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    assert {file.name for file in tmp_path.iterdir()} == {study[at].id for at in range(len(study))}
    assert sl.sweep(study, out=tmp_path).rows() == expected
