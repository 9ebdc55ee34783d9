"""Writes the text that `make run` counts: `text.py FILE [BYTES]`.

The same bytes every time: words made of syllables, the nth word about n times
rarer than the first (Zipf), capitals, numbers, apostrophes and punctuation.
"""
from __future__ import annotations

import random
import sys
from itertools import accumulate

SYLLABLES = ("ba be bi bo bra ca ce co cre da de di do dra en er fa fe fi fo ga ge go gra ha he "
             "ho in is ka ke ki la le li lo lu ma me mi mo na ne ni no on or pa pe pi po qua ra "
             "re ri ro sa se shi so sta ta te the ti to tra un us va ve vi wa we wo ya za").split()
ENDS = [". ", ". ", ". ", "! ", "? ", ".\n\n", "; ", ": ", " -- ", "... "]
GAPS = [" "] * 12 + [", ", ", ", "\n", "-", "  ", " (", ") ", "\t"]


def vocabulary(rng: random.Random, size: int) -> list[str]:
    """Distinct words; frequent ones are short, a few have an apostrophe."""
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = 1 + min(4, len(words).bit_length() // 4) * rng.random()
        word = "".join(rng.choices(SYLLABLES, k=round(syllables)))
        words[word + rng.choice([""] * 14 + ["'s", "n't"])] = None
    return list(words)


def text(size: int) -> str:
    rng = random.Random(1999)
    words = vocabulary(rng, 6000)
    weights = list(accumulate(1 / (rank + 1.5) for rank in range(len(words))))
    pieces: list[str] = []
    length = 0
    while length < size:
        sentence = rng.choices(words, cum_weights=weights, k=rng.randint(3, 24))
        sentence[0] = sentence[0].capitalize()
        if rng.random() < 0.1:
            sentence.append(str(rng.randrange(10000)))
        if rng.random() < 0.05:
            sentence[-1] = sentence[-1].upper()
        row = "".join(word + rng.choice(GAPS) for word in sentence[:-1])
        pieces.append(row + sentence[-1] + rng.choice(ENDS))
        length += len(pieces[-1])
    return "".join(pieces)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="ascii", newline="") as file:
        file.write(text(int(sys.argv[2]) if len(sys.argv) > 2 else 1_500_000))
