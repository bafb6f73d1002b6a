"""A picture of where the time of a query goes: a bar for each contender, from its start to its end."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

# What the peers report about a query's stages, in the order in which the first trigger has them, and what each is.
_STAGES: Final = {
    "before": "before the first trigger",
    "latestOffset": "ask for the end",
    "walCommit": "write down the range",
    "queryPlanning": "plan",
    "addBatch": "read",
    "commitOffsets": "write down that it is done",
    "other": "other in triggers",
    "after": "after the last trigger",
}

Rounds = Sequence[Mapping[str, Mapping[str, float]]]


def draw_stages(works: Mapping[str, Rounds], file: Path) -> None:
    """Draw the medians of all rounds, a row of bars for each work."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, rows = plt.subplots(len(works), squeeze=False, figsize=(9, 0.8 + 1.7 * len(works)))
    for (work, rounds), axes in zip(works.items(), rows[:, 0], strict=True):
        names = list(rounds[0])
        ends = [0.0] * len(names)
        for number, (stage, words) in enumerate(_STAGES.items()):
            # Clocks of two kinds meet at the edges of triggers.
            spent = [max(0.0, median(one[name][f"stage {stage}"] for one in rounds)) for name in names]
            axes.barh(names, spent, left=ends, color=f"C{number}", label=words)
            ends = [end + more for end, more in zip(ends, spent, strict=True)]
        for row, end in enumerate(ends):
            axes.text(end, row, f" {end:.2f} s", va="center", fontsize=9)
        axes.invert_yaxis()
        axes.set_title(work, loc="left", fontsize=10)
        axes.margins(x=0.12)
        axes.spines[["top", "right"]].set_visible(False)
    rows[-1, 0].set_xlabel("seconds")
    figure.legend(*rows[0, 0].get_legend_handles_labels(), ncols=4, frameon=False, loc="lower center", fontsize=8)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(file, dpi=120)
    plt.close(figure)
