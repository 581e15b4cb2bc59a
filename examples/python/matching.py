"""A greedy matching against random actions, in the environment for reinforcement learning."""

from collections.abc import Callable
from typing import Any

import numpy as np

from slotline.gym import SchedulerEnv


def longest_queue_first(waiting: Any) -> Any:
    """Pairs with many flows first; no host sends to two or receives from two."""
    hosts = len(waiting)
    action = np.full(hosts, hosts)
    taken: set[int] = set()
    for pair in np.argsort(-waiting, axis=None, kind="stable").tolist():
        src, dst = divmod(pair, hosts)
        if waiting[src, dst] > 0 and action[src] == hosts and dst not in taken:
            action[src] = dst
            taken.add(dst)
    return action


def total(env: SchedulerEnv, policy: Callable[[Any], Any]) -> float:
    """The sum of the rewards of an episode."""
    waiting, _ = env.reset(seed=1)
    sum_of_rewards, over = 0.0, False
    while not over:
        waiting, reward, over, _, _ = env.step(policy(waiting))
        sum_of_rewards += float(reward)
    return sum_of_rewards


if __name__ == "__main__":
    env = SchedulerEnv()
    env.action_space.seed(1)
    print("greedy matching", round(total(env, longest_queue_first)))
    print("random actions", round(total(env, lambda _: env.action_space.sample())))
    env.close()
