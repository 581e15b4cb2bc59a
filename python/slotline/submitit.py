"""Points of sweeps as jobs of Slurm, with submitit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

__all__ = ["SubmititExecutor"]

T = TypeVar("T")


class SubmititExecutor(Executor):
    """An executor whose calls are jobs: ``slotline.sweep(study, executor=SubmititExecutor(executor))``.

    :param executor: an executor of submitit, such as ``submitit.AutoExecutor(folder="log")``, with its parameters set.
    :param every: how often the states of jobs are looked at, in seconds.
    """

    def __init__(self, executor: Any, *, every: float = 0.5) -> None:
        self._executor, self._every = executor, every
        self._open: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Starts ``fn(*args, **kwargs)`` as a job."""
        future: Future[T] = Future()
        job = self._executor.submit(_caught, fn, *args, **kwargs)
        with self._lock:
            self._open[future] = job
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="slotline submitit", daemon=True)
                self._watcher.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends, when all jobs have ended. With ``cancel_futures``, those that have not are cancelled."""
        watcher = self._watcher
        if cancel_futures:
            for future in list(self._open):
                future.cancel()
        if wait and watcher is not None:
            watcher.join()

    def _watch(self) -> None:
        """Looks at the jobs until none is left."""
        while True:
            for future, job in list(self._open.items()):
                if future.cancelled():
                    job.cancel(check=False)
                elif job.done():
                    _settle(future, job)
                else:
                    continue
                with self._lock:
                    del self._open[future]
            with self._lock:
                if not self._open:
                    self._watcher = None
                    return
            time.sleep(self._every)


def _caught(fn: Callable[..., T], *args: Any, **kwargs: Any) -> tuple[T | None, Exception | None]:
    """What ``fn`` returns, or its exception: submitit gives only the text of exceptions."""
    try:
        return fn(*args, **kwargs), None
    except Exception as error:
        return None, error


def _settle(future: Future[Any], job: Any) -> None:
    """Gives a future the result of its job. If the job left none, its worker was lost."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        value, error = job.result()
    except Exception as lost:
        value, error = None, lost
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
