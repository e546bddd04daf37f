"""Command line of the studies: `python -m paper NAME`."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from paper.datasets import DATA_VARIABLE, DataMissingError, find_folder
from paper.runner import ALL, STUDIES, reproduce

PRINT_EVERY_JOBS = 10  # where standard output is not a terminal
STUDY_TITLES = "\n".join(f"  {study.name:<11} {study.title}" for study in STUDIES.values())
EPILOG = f"""\
studies:
{STUDY_TITLES}
  {ALL:<11} all of them

examples:
  python -m paper all --quick
  python -m paper fig3 --data ~/data --out evidence

Finished results are kept: an interrupted run continues when it is started again.
Data sets that are not available are replaced by data from scikit-learn or from a seed.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parse(arguments)
    if find_spec("matplotlib") is None:
        return _fail("matplotlib is missing. Run: pip install matplotlib", 1)
    if options.data is not None:  # for this process and its workers
        os.environ[DATA_VARIABLE] = str(options.data.absolute())
    try:
        find_folder()
        result = reproduce(
            options.name,
            options.out,
            quick=options.quick,
            workers=options.workers,
            watch=_choose_progress(),
        )
    except (DataMissingError, ValueError) as error:
        return _fail(str(error), 2)
    except OSError as error:
        return _fail(f"{options.out} cannot be written ({error}). Choose another folder.", 1)
    except KeyboardInterrupt:
        return _fail(f"Interrupted. Results are in {options.out}; run the command again.", 130)
    for claim in result.claims:
        print(f"{claim.verdict}: {claim.paper}\n    {claim.ours}")
    for reason in dict.fromkeys(result.missing.values()):
        print(f"Missing: {reason}")
    print(f"Report: {result.report}")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m paper",
        description="Rerun the figures of the paper and report which claims hold.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*STUDIES, ALL]
    parser.add_argument("name", choices=names, metavar="STUDY", help="one of: " + ", ".join(names))
    parser.add_argument("--data", type=Path, help="folder of the data sets [LABELWALK_DATA]")
    parser.add_argument("--quick", action="store_true", help="fewer problems: some minutes")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("labelwalk-evidence"),
        help="folder for results, figures and the report [%(default)s]",
    )
    parser.add_argument("--workers", type=int, default=2, help="number of processes [%(default)s]")
    return parser.parse_args(arguments)


def _choose_progress() -> Callable[[int, int, str], None]:
    """Return a function that overwrites one line of a terminal, or else prints some lines."""
    print("starting (the first run compiles) ...", flush=True)
    is_terminal = sys.stdout.isatty()

    def show(n_done: int, total: int, key: str) -> None:
        if is_terminal:
            end = "\n" if n_done == total else ""
            print(f"\r\033[K{n_done}/{total} {key}", end=end, flush=True)
        elif n_done % PRINT_EVERY_JOBS == 0 or n_done == total:
            print(f"{n_done}/{total} {key}", flush=True)

    return show


def _fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
