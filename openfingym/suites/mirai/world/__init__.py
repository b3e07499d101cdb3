"""A simulated world of countries: what happens between them day by day, and the articles that tell of it.

Names of countries are real and nothing else is: who counts for much, who is allied and who at odds is drawn from the
seed, and no event ever happened. So what a model remembers of the real world is of no use in it.
"""

from openfingym.suites.mirai.world.simulate import SimulationOutput, SimulationSize, simulate

__all__ = ["SimulationOutput", "SimulationSize", "simulate"]
