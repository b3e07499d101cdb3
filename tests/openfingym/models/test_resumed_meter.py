"""What a process that died had spent counts for the one that goes on, its time included."""

from openfingym.models.meter import Allowance, Meter, Spent


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_the_time_before_counts_towards_the_limit() -> None:
    clock = Clock()
    meter = Meter(Allowance(wall_s=60.0), clock=clock, before=Spent(turns=3, wall_s=50.0))
    assert (meter.spent.turns, meter.spent.wall_s, meter.left.wall_s) == (3, 50.0, 10.0)
    clock.now_s += 4.0
    assert (meter.spent.wall_s, meter.left.wall_s) == (54.0, 6.0)
    meter.excuse(4.0)
    assert (meter.spent.wall_s, meter.left.wall_s) == (50.0, 10.0)


def test_without_a_process_before_time_begins_now() -> None:
    clock = Clock()
    meter = Meter(Allowance(wall_s=60.0), clock=clock)
    assert meter.spent.wall_s == 0.0
    clock.now_s += 4.0
    assert (meter.spent.wall_s, meter.left.wall_s) == (4.0, 56.0)
