"""Checks restow's packer against its targets over the whole packing study: `make bench` runs it.

One line for each target; the exit code is 1 where one is missed. Arguments: the values of d (default: 5 10 15 20 25).
"""

import sys

from restow.packing import warm_up
from restow.study.packing import study
from restow.study.targets import CONTENDERS, checked
from restow.study.workload import TOP_SPEED, Walk

SEEDS, STEPS = (1, 2, 3), 200


def main(ds: list[int]) -> int:
    warm_up()
    missed = 0
    for d in ds:
        rows = study([Walk(d, seed, STEPS) for seed in SEEDS], CONTENDERS, float(TOP_SPEED))
        for met, line in checked(d, dict(zip(CONTENDERS, rows, strict=True))):
            missed += not met
            sys.stdout.write(f"{'met   ' if met else 'MISSED'}  {line}\n")
            sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]] or [5, 10, 15, 20, 25]))
