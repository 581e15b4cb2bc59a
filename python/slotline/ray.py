"""Points of sweeps on Ray."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

__all__ = ["RayExecutor"]

T = TypeVar("T")


class RayExecutor(Executor):
    """An executor whose calls are tasks of Ray: ``slotline.sweep(study, executor=RayExecutor())``.

    The options are those of ``ray.remote``, such as ``num_cpus=1``. Ray must have been started (``ray.init()``). Ray
    itself tries a task again whose worker was lost, three times by default (``max_retries``).
    """

    def __init__(self, **options: Any) -> None:
        self._options = options

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Starts ``fn(*args, **kwargs)`` as a task."""
        import ray

        task = ray.remote(**self._options)(fn) if self._options else ray.remote(fn)
        future: Future[T] = task.remote(*args, **kwargs).future()
        return future
