"""Sweeps on clusters: workers are killed, uploads fail, and points are many. `python/check --full` runs these tests."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import slotline as sl

TEXT = """
name = "cluster"
end = { at = "400ms", when = "time" }
fabric = { kind = "star", hosts = 9, rate = "10Gbps" }
measure = { why = false }
workload = [{ kind = "poisson", load = 0.3, sizes = "websearch", until = "%s" }]
scheme = [{ name = "tcp" }]
[sweep.grid]
"seed" = [%s]
"""


def study_of(points: int, traffic: str) -> str:
    return TEXT % (traffic, ", ".join(str(seed) for seed in range(1, points + 1)))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> sl.Study:
    file = tmp_path_factory.mktemp("study") / "study.toml"
    file.write_text(study_of(200, "150ms"))
    return sl.Study.load(file)


@pytest.fixture(scope="module")
def expected(study: sl.Study, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table that the command makes, one point after the other."""
    out = tmp_path_factory.mktemp("command")
    line = [sys.executable, "-m", "slotline", "sweep", str(study.path), "--out", str(out), "--jobs", "1"]
    subprocess.run(line, check=True, capture_output=True)
    return Path(out, study.id, "sweep.csv").read_text()


class Killer(threading.Thread):
    """Kills a random worker after a second, and then every few seconds."""

    def __init__(self, workers: Callable[[], list[int]], every: float = 5.0) -> None:
        super().__init__(daemon=True)
        self.workers, self.every, self.killed, self.over = workers, every, 0, threading.Event()

    def run(self) -> None:
        pause = 1.0
        while not self.over.wait(pause):
            pause = self.every
            workers = self.workers()
            if workers:
                try:
                    os.kill(random.choice(workers), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def processes() -> Iterator[tuple[int, str]]:
    """All processes with their command lines."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                pass


def named(what: str) -> list[int]:
    return [process for process, words in processes() if what in words]


def descendants() -> set[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(pid): int(parent) for pid, parent in (line.split() for line in listed.splitlines())}
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def test_dask_with_killed_workers(study: sl.Study, expected: str, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    before = descendants()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:

        def workers() -> list[int]:
            return [worker.process.pid for worker in cluster.workers.values() if worker.process and worker.process.pid]

        with distributed.Client(cluster) as client:
            with Killer(workers) as killer:
                done = sl.sweep(study, out=tmp_path, executor=client.get_executor(), retries=50)
            # A cluster does not close while it starts a worker again.
            client.wait_for_workers(2, timeout=60)
    assert killer.killed > 0 and done.complete and done.rows() == expected
    time.sleep(1)
    left = [words for process, words in processes() if process in descendants() - before and "resource_tracker" not in words]
    assert not left, left


def test_ray_with_killed_workers(study: sl.Study, expected: str, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    from slotline.ray import RayExecutor

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with Killer(lambda: named("ray::run_point")) as killer:
            done = sl.sweep(study, out=tmp_path, executor=RayExecutor(max_retries=0), retries=50)
    finally:
        ray.shutdown()
    assert killer.killed > 0 and done.complete and done.rows() == expected
    time.sleep(1)
    assert not named("ray::run_point")


def test_s3_with_failing_uploads(study: sl.Study, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tenth upload fails; half of these leave a file that is cut off."""
    s3fs = pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    for key, value in (("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b"), ("ENDPOINT_URL", f"http://{host}:{port}")):
        monkeypatch.setenv(f"AWS_{key}", value)
    chance, failed = random.Random(1), 0
    upload = s3fs.S3FileSystem._pipe_file

    async def flaky(self: Any, path: str, data: bytes, *more: Any, **other: Any) -> Any:
        nonlocal failed
        if chance.random() < 0.1:
            failed += 1
            if chance.random() < 0.5:
                await upload(self, path, data[: len(data) // 2], *more, **other)
            raise OSError("connection lost")
        return await upload(self, path, data, *more, **other)

    monkeypatch.setattr(s3fs.S3FileSystem, "_pipe_file", flaky)
    try:
        s3fs.S3FileSystem().mkdir("results")
        done = sl.sweep(study, out="s3://results/here")
        assert failed > 20 and done.complete and done.rows() == expected
        assert sl.sweep(study, out="s3://results/here").rows() == expected
    finally:
        server.stop()


def test_ten_thousand_short_points(tmp_path: Path) -> None:
    """Points of about 10 ms: how much more they cost than their runs is printed."""
    study = sl.Study.parse(study_of(10_000, "15ms").replace('"400ms"', '"100ms"'))
    alone, some = 0.0, range(0, 10_000, 100)
    for at in some:
        scenario = study[at]
        began = time.process_time()
        scenario.run(threads=1)
        alone += time.process_time() - began
    began = time.process_time()
    done = sl.sweep(study, out=tmp_path)
    took = time.process_time() - began
    assert done.complete and len(list(tmp_path.glob("*/summary.json"))) == 10_000
    overhead = took / (alone / len(some) * 10_000) - 1
    print(f"{alone / len(some) * 1e3:.1f} ms of a run, {took / 10:.1f} ms of 100 points; overhead {overhead:.1%}")
