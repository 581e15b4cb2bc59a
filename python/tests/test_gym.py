"""The environment of gymnasium."""

from __future__ import annotations

from typing import Any

import pytest

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

from slotline.gym import SchedulerEnv  # noqa: E402


def episode(env: SchedulerEnv, seed: int, policy: Any) -> tuple[float, int]:
    """The sum of rewards, and the number of steps."""
    waiting, _ = env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        waiting, reward, over, _, _ = env.step(policy(waiting))
        total, steps = total + float(reward), steps + 1
    return total, steps


def longest(waiting: Any) -> Any:
    """Pairs with many flows first; no host sends or receives twice."""
    hosts = len(waiting)
    action = np.full(hosts, hosts)
    taken: set[int] = set()
    for pair in np.argsort(-waiting, axis=None, kind="stable").tolist():
        src, dst = divmod(pair, hosts)
        if waiting[src, dst] > 0 and action[src] == hosts and dst not in taken:
            action[src] = dst
            taken.add(dst)
    return action


def test_it_is_an_environment() -> None:
    from gymnasium.utils.env_checker import check_env

    env = SchedulerEnv()
    check_env(env, skip_render_check=True)
    env.close()


def test_the_same_seed_is_the_same_episode() -> None:
    env = SchedulerEnv()
    assert episode(env, 5, longest) == episode(env, 5, longest) != episode(env, 6, longest)
    env.close()


def test_a_matching_is_better_than_chance() -> None:
    env = SchedulerEnv()
    env.action_space.seed(1)
    by_chance = [episode(env, seed, lambda _: env.action_space.sample())[0] for seed in (1, 2)]
    by_plan = [episode(env, seed, longest)[0] for seed in (1, 2)]
    env.close()
    assert all(plan > 0.9 * chance for plan, chance in zip(by_plan, by_chance, strict=True)), (by_plan, by_chance)
