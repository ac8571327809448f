"""A million fuzzed records against the codecs, once: every topic's messages, measurements and pictures.

    python -m tests.soak.fuzz [--records 1000000] [--seed 1]

Each record is a valid message, read again after it was written, or refused with its place and a printable reason
(tests/protocol/test_fuzz.py). One that crashes the codec, or is refused without a reason, ends the run with its seed.
"""

import argparse
import random
import sys
import time
from collections import Counter

from tests.protocol.test_fuzz import MAKERS, examined
from tests.support.picture_driver import pair

from restow.errors import InvalidInput
from restow.picture.parts import Assembler, change, whole

AT_ONCE = 20_000
"""Records of one seed: a failure is repeated in seconds."""
PICTURES = 0.1
"""The share of the status topic's records."""


def pictures(seed: int, count: int) -> tuple[int, int]:
    """How many records of pictures were taken, and refused. A reader with a good picture keeps it after bad records."""
    dice, good = random.Random(seed), pair().picture()
    [first] = whole(good, 1)
    seeds = [record.value for record in (first, *whole(good, 2, largest_bytes=600), change(good, good, 1, 1))]
    makers, weights = zip(*MAKERS, strict=True)
    assembler, taken, refused = Assembler(), 0, 0
    for number, make in enumerate(dice.choices(makers, weights, k=count)):
        if number % 50 == 0:
            assembler = Assembler()
            assert assembler.take(first.value)
        try:
            assembler.take(make(dice, dice.choice(seeds)))
            taken += 1
        except InvalidInput as error:
            refused += len(str(error)) > 0
        assert assembler.picture is not None, (seed, number)
    return taken, refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    begun_s, read, refused, done, seed = time.monotonic(), Counter[str](), Counter[str](), 0, args.seed
    while done < args.records:
        count = min(AT_ONCE, args.records - done)
        shown = round(count * PICTURES)
        try:
            seen, without = examined(seed, count - shown)
            taken, left = pictures(seed, shown)
        except BaseException:
            print(f"repeat it with: python -m tests.soak.fuzz --records {count} --seed {seed}", flush=True)
            raise
        read.update({kind.__name__: number for kind, number in seen.items()} | {"Picture": taken})
        refused.update({**without, "shop-status": left})
        done, seed = done + count, seed + 1
    print(f"{done:,} records in {time.monotonic() - begun_s:.0f} s, seeds {args.seed} to {seed - 1}: no crash")
    for title, counts in (("read", read), ("refused", refused)):
        print(f"{title}: " + ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
