"""Incast under three schemes, and a chart of the completion times."""

from pathlib import Path

import slotline as sl

scenario = sl.Scenario.load(Path(__file__).parents[2] / "scenarios" / "incast.toml")
result = scenario.run(repeat=2, progress=True)
print(result)
chart = result.chart("fct-cdf")
print(chart.save("incast.json"))
