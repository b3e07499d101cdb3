"""A simulated world of countries: what happens between them day by day, and the articles that tell of it.

Only the names of countries are real: which of them are large, allied or at odds is drawn from the seed, and no event
ever happened. So what a model remembers of the real world is of no use here.
"""

from openfingym_suites.mirai.world.simulate import SimulationOutput, SimulationSize, simulate

__all__ = ["SimulationOutput", "SimulationSize", "simulate"]
