"""Parameter studies on many processors and machines."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

from . import _core
from ._progress import Report, reporter
from .errors import Error, read_text
from .scenario import Scenario

__all__ = ["Study", "StudyResult", "collect", "run_point", "sweep"]

#: The exit code of the process of a point after Ctrl-C.
INTERRUPTED = 130

Keep = Literal["summary", "result"]


class Study:
    """A scenario with a ``sweep``: many scenarios in one file, its points."""

    def __init__(self, core: _core.Study, text: str, path: Path) -> None:
        self._core = core
        #: The text of the file.
        self.text = text
        #: The file.
        self.path = path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Reads the file at ``path``.

        :raises ScenarioError: it is wrong, or has no ``sweep``.
        """
        return cls.parse(read_text(Path(path)), path=path)

    @classmethod
    def parse(cls, text: str, *, path: str | os.PathLike[str] = "study.toml") -> Study:
        """Reads ``text`` as the content of the file at ``path``."""
        return cls(_core.Study.parse(text, path), text, Path(path))

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def id(self) -> str:
        """The name of the sweep: equal for equal studies."""
        return self._core.id

    @property
    def parameters(self) -> dict[str, str]:
        """The varied parameters: the name of each in tables, and its path in the scenario."""
        return {label: path for path, label in self._core.parameters}

    def settings(self, at: int) -> str:
        """The settings of point ``at`` in words."""
        return self._core.settings(at)

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, at: int) -> Scenario:
        return Scenario(self._core.point(at))

    def __iter__(self) -> Iterator[Scenario]:
        return (self[at] for at in range(len(self)))

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {len(self)} points of {', '.join(self.parameters)}>"


@dataclass(frozen=True)
class StudyResult:
    """What a sweep left."""

    #: The folder, or the address, with ``sweep.csv``, ``sweep.html`` and ``sweep.json``.
    folder: str
    #: Whether all points are done.
    complete: bool
    #: Why points failed, by number.
    failed: dict[int, str]
    #: The table as text.
    text: str

    def rows(self) -> str:
        """The content of ``sweep.csv``: one row for each point, scheme and metric."""
        if "://" in self.folder:
            return _store(self.folder).read_text("sweep.csv")
        return Path(self.folder, "sweep.csv").read_text("utf-8")

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4)
def _study(text: str, path: str) -> _core.Study:
    return _core.Study.parse(text, path)


def run_point(
    text: str, path: str, at: int, out: str, keep: Keep = "summary", threads: int = 1, alive: Report | None = None
) -> str:
    """Runs point ``at`` of the study ``text``, and writes its result below ``out``, a folder or an address of fsspec.

    This is what :func:`sweep` gives to executors. A point whose result is there is not run again. Returns the record of
    the point as JSON, with its ``state``: ``done``, ``failed`` or ``missing`` (stopped).
    """
    study = _study(text, path)
    if "://" not in out:
        return study.run(at, out, keep == "result", threads, alive)
    store = _store(out)
    point = study.point(at)
    with tempfile.TemporaryDirectory(prefix="slotline-") as scratch:
        if store.exists(f"{point.id}/summary.json"):
            store.fetch(point.id, scratch)
        record = study.run(at, scratch, keep == "result", threads, alive)
        if json.loads(record)["state"] == "done" and not store.exists(f"{point.id}/summary.json"):
            store.put(point.id, scratch)
    return record


class _Store:
    """A folder at an address of fsspec. A point is there as soon as its ``summary.json`` is, which is put last."""

    ATTEMPTS = 8

    def __init__(self, address: str) -> None:
        import fsspec

        self._files, self._root = fsspec.core.url_to_fs(address)

    def _try(self, act: Callable[[], Any]) -> Any:
        for attempt in range(self.ATTEMPTS):
            try:
                return act()
            except FileNotFoundError:
                raise
            except OSError:
                if attempt + 1 == self.ATTEMPTS:
                    raise
                time.sleep(min(5.0, 0.1 * 2**attempt) * random.random())
        raise AssertionError("unreachable")

    def exists(self, name: str) -> bool:
        """Whether the file is there."""
        return bool(self._try(lambda: self._files.exists(f"{self._root}/{name}")))

    def read_text(self, name: str) -> str:
        """The content of a file."""
        content: bytes = self._try(lambda: self._files.cat_file(f"{self._root}/{name}"))
        return content.decode()

    def fetch(self, name: str, folder: str) -> None:
        """Gets what tables need of the point ``name``."""
        Path(folder, name).mkdir(parents=True, exist_ok=True)
        for file in ("scenario.toml", "summary.json"):
            Path(folder, name, file).write_text(self.read_text(f"{name}/{file}"), "utf-8")

    def put(self, name: str, folder: str) -> None:
        """Puts all files of the folder ``name``, the summary last."""
        files = sorted(Path(folder, name).iterdir(), key=lambda file: file.name == "summary.json")
        for file in files:
            write = partial(self._files.pipe_file, f"{self._root}/{name}/{file.name}", file.read_bytes())
            try:
                self._try(write)
            except FileNotFoundError:  # a store with folders
                self._files.makedirs(f"{self._root}/{name}", exist_ok=True)
                self._try(write)


@lru_cache(maxsize=8)
def _store(address: str) -> _Store:
    return _Store(address)


def _run_process(text: str, path: str, at: int, out: str, keep: Keep, threads: int, alive: Report) -> str:
    """As :func:`run_point`, in a process of its own."""
    words = [sys.executable, "-c", f"from {__name__} import _serve; _serve()"]
    asked: str | None = json.dumps([text, path, at, out, keep, threads])
    pipe = subprocess.PIPE
    with subprocess.Popen(words, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        while True:
            try:
                said, complaint = child.communicate(asked, timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                asked = None  # it was given
                try:
                    alive(0.0, 0, 1)
                except BaseException:
                    child.terminate()
                    raise
    if child.returncode < 0 or child.returncode == INTERRUPTED:
        raise _Lost(f"the process ended with signal {-child.returncode}")
    if child.returncode:
        raise Error(complaint.strip() or f"the process ended with exit code {child.returncode}")
    return said.strip()


def _serve() -> None:
    """The process of one point. It reads the arguments of :func:`run_point` as JSON, and prints the record."""
    asked = json.load(sys.stdin)
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    try:
        print(run_point(*asked))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except _OF_THE_POINT as error:
        sys.exit(str(error))


def _taken(ended: SimpleQueue[Future[str]]) -> list[Future[str]]:
    """The futures that have ended. Waits a moment for the first one."""
    taken: list[Future[str]] = []
    try:
        taken.append(ended.get(timeout=0.2))
        while True:
            taken.append(ended.get_nowait())
    except Empty:
        return taken


class _Lost(Exception):
    """A worker ended before its point was done."""


class _Stopped(Exception):
    """The sweep was stopped."""


#: Errors that a point causes. Any other exception means that its worker was lost.
_OF_THE_POINT = (Error, OSError, ValueError, IndexError, MemoryError)


class _Sweep:
    """Gives points to an executor until all of them are done or have failed."""

    def __init__(self, study: Study, out: str, keep: Keep, retries: int) -> None:
        self.study, self.out, self.keep, self.retries = study, out, keep, retries
        self.records: dict[int, str] = {}
        self.failed: dict[int, str] = {}
        self.lost: dict[int, int] = {}
        self.stop = threading.Event()

    def alive(self, *_: object) -> None:
        """Ends the points of this process when the sweep is stopped."""
        if self.stop.is_set():
            raise _Stopped

    def run(self, start: Callable[[], Executor], work: Callable[..., str], report: Report | None) -> None:
        """Runs the points. ``start`` makes an executor, also a new one if it broke."""
        executor, breaks = start(), 0
        arguments = (self.study.text, str(self.study.path.absolute()))
        todo = list(range(len(self.study)))
        running: dict[Future[str], int] = {}
        of = len(todo)
        # Each future reports its end: waiting for thousands of them together takes as long as a short point.
        ended: SimpleQueue[Future[str]] = SimpleQueue()
        try:
            while todo or running:
                try:
                    while todo:
                        at = todo[-1]
                        future = executor.submit(work, *arguments, at, self.out, self.keep)
                        running[future] = todo.pop()
                        future.add_done_callback(ended.put)
                except BrokenExecutor:
                    pass
                before, broken = len(self.records), False
                for future in _taken(ended):
                    at = running.pop(future)
                    again, broke = self._note(at, future)
                    broken = broken or broke
                    if again:
                        todo.append(at)
                if broken:
                    breaks = breaks + 1 if len(self.records) == before else 0
                    if breaks > self.retries:
                        raise Error("the executor broke again and again, and no point was done between")
                    executor.shutdown(wait=False, cancel_futures=True)
                    executor = start()
                if report is not None:
                    done = len(self.records) + len(self.failed)
                    report(done / max(of, 1), done, of)
        except BaseException:
            self.stop.set()
            for future in running:
                future.cancel()
            wait(running, timeout=5)
            raise

    def _note(self, at: int, future: Future[str]) -> tuple[bool, bool]:
        """Notes the end of point ``at``. Returns whether it is to be tried again, and whether the executor broke."""
        error = None if future.cancelled() else future.exception()
        if not future.cancelled() and error is None:
            record = future.result()
            self.records[at] = record
            parsed = json.loads(record)
            if parsed["state"] == "failed":
                self.failed[at] = parsed["message"]
            return False, False
        if isinstance(error, _OF_THE_POINT):
            self._fail(at, str(error))
            return False, False
        if isinstance(error, BrokenExecutor):
            return True, True
        self.lost[at] = self.lost.get(at, 0) + 1
        if self.lost[at] <= self.retries:
            return True, False
        self._fail(at, f"its worker was lost {self.lost[at]} times: {error!r}")
        return False, False

    def _fail(self, at: int, why: str) -> None:
        self.failed[at] = why
        blank = {"point": at, "settings": [None] * len(self.study.parameters), "id": None, "digest": None}
        self.records[at] = json.dumps({**blank, "state": "failed", "message": why})


def _joined(study: Study, out: str, records: list[str]) -> tuple[str, bool, str]:
    """Writes the tables of a sweep; returns their folder, whether it is complete, and the table as text."""
    core = study._core
    if "://" not in out:
        folder, complete, text = core.finish(out, records, 100)
        return str(folder), complete, text
    store = _store(out)
    with tempfile.TemporaryDirectory(prefix="slotline-") as scratch:
        for record in map(json.loads, records):
            if record["state"] == "done":
                store.fetch(record["id"], scratch)
        _, complete, text = core.finish(scratch, records, 100)
        store.put(study.id, scratch)
    return f"{out.rstrip('/')}/{study.id}", complete, text


def sweep(
    study: Study | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] = "results",
    executor: Executor | Callable[[], Executor] | Literal["threads", "processes"] = "threads",
    jobs: int | None = None,
    keep: Keep = "summary",
    retries: int = 5,
    progress: bool | Report = False,
) -> StudyResult:
    """Runs all points of a study, and joins their results. Points that are done already are not run again.

    :param out: the folder of the results, or an address of fsspec (``"s3://bucket/folder"``).
    :param executor: where points run: ``"threads"`` of this process, for points of less than a second; ``"processes"``,
        one for each point, which end with it; or any executor of ``concurrent.futures``, such as that of
        ``dask.distributed.Client.get_executor()``, :class:`slotline.ray.RayExecutor` or
        :class:`slotline.submitit.SubmititExecutor`. Workers need this package, and see ``out``. For an executor that
        breaks when a worker is lost, as ``ProcessPoolExecutor`` does, give a function that makes one.
    :param jobs: how many points run at the same time in this machine. Default: one for each processor.
    :param keep: ``"summary"``: what the tables need; ``"result"``: also all tables and the report of each point.
    :param retries: how often a point is tried again whose worker was lost.
    :param progress: whether to show the progress, or a function as in :meth:`Scenario.run`.
    :raises ScenarioError: the study is wrong.

    An exception, as Ctrl-C, stops the sweep. What is done is kept: the same call continues.
    """
    if not isinstance(study, Study):
        study = Study.load(study)
    at_once = jobs or len(os.sched_getaffinity(0))
    own = _Sweep(study, os.fspath(out), keep, retries)
    pool: list[Executor] = []

    def threads() -> Executor:
        pool.append(ThreadPoolExecutor(at_once, thread_name_prefix="slotline"))
        return pool[-1]

    work: Callable[..., str] = run_point
    start: Callable[[], Executor] = threads
    if executor == "threads":
        work = _InProcess(run_point, own.alive)
    elif executor == "processes":
        work = _InProcess(_run_process, own.alive)
    elif isinstance(executor, Executor):
        start = _the_same(executor)
    elif callable(executor):
        start = executor
    else:
        raise TypeError(f"`executor` is \"threads\", \"processes\" or an executor, not {executor!r}")
    report, close = reporter(progress, "points")
    try:
        own.run(start, work, report)
    finally:
        close()
        for threads_ in pool:
            threads_.shutdown(wait=True, cancel_futures=True)
        joined = _joined(study, own.out, list(own.records.values()))
    return StudyResult(*joined[:2], failed=own.failed, text=joined[2])


def _the_same(executor: Executor) -> Callable[[], Executor]:
    made: list[Executor] = []

    def start() -> Executor:
        if made:
            raise Error("the executor broke, as a worker was lost: give a function that makes an executor")
        made.append(executor)
        return executor

    return start


class _InProcess:
    """A function that runs points in this process, and stops them with the sweep."""

    def __init__(self, work: Callable[..., str], alive: Report) -> None:
        self._work, self._alive = work, alive

    def __call__(self, text: str, path: str, at: int, out: str, keep: Keep) -> str:
        return self._work(text, path, at, out, keep, 1, self._alive)


def collect(*folders: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> StudyResult:
    """Joins the parts of a sweep that ran on several machines, as ``slotline collect`` does.

    :param folders: folders of results of one sweep.
    :param out: the folder that gets the tables. Default: the first of ``folders``.
    :raises ResultError: there is no sweep, or the parts do not fit.
    """
    folder, complete, text, failed = _core.collect(folders, out, 100)
    return StudyResult(str(folder), complete, dict(failed), text)
