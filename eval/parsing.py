"""How fast PDFs are read, whole and as text and boxes alone, against pdfplumber's `extract_text()` of the same pages.

    python -m eval.parsing FOLDER

One JSON object on stdout. Each reader runs alone in a process of its own, so that the peak of its memory is its own;
the time is the processor's, the best of `--runs`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingest.pdf import parse_pdf


def read_by_us(path: Path) -> int:
    return _read(path, objects=True)


def read_text_by_us(path: Path) -> int:
    return _read(path, objects=False)


def _read(path: Path, *, objects: bool) -> int:
    parsed = parse_pdf(path, 100_000, objects=objects)
    assert all(len(page.boxes) == len(page.text) for page in parsed.pages)
    return len(parsed.pages)


def read_by_pdfplumber(path: Path) -> int:
    import pdfplumber

    with pdfplumber.open(path) as document:
        for page in document.pages:
            page.extract_text()
            page.close()
        return len(document.pages)


def measured(read: Callable[[Path], int], paths: list[Path], runs: int) -> dict[str, dict[str, float]]:
    """For each file its pages, milliseconds a page, and MB of the process's peak after it."""
    found = {}
    for path in paths:
        times = []
        for _ in range(runs):
            start = time.process_time()
            pages = read(path)
            times.append(time.process_time() - start)
        found[path.name] = {"pages": pages, "ms_a_page": round(1000 * min(times) / pages, 2), "peak_mb": _peak_mb()}
    return found


def _peak_mb() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3))


def report(paths: list[Path], runs: int) -> dict[str, Any]:
    readers = {"whole": read_by_us, "text_and_boxes": read_text_by_us, "pdfplumber": read_by_pdfplumber}
    found = {name: _alone(read, paths, runs) for name, read in readers.items()}
    theirs = _mean(found["pdfplumber"])
    result: dict[str, Any] = {"pages": sum(file["pages"] for file in found["whole"].values())}
    for name, files in found.items():
        ms = _mean(files)
        result[name] = {
            "ms_a_page": round(ms, 2),
            "times_as_fast_as_pdfplumber": round(theirs / ms, 1),
            "peak_mb": max(file["peak_mb"] for file in files.values()),
        }
    each = {path.name: {name: files[path.name]["ms_a_page"] for name, files in found.items()} for path in paths}
    return result | {"ms_a_page_by_file": each}


def _alone(read: Callable[[Path], int], paths: list[Path], runs: int) -> dict[str, dict[str, float]]:
    with multiprocessing.get_context("spawn").Pool(1) as alone:
        found: dict[str, dict[str, float]] = alone.apply(measured, (read, paths, runs))
    return found


def _mean(files: dict[str, dict[str, float]]) -> float:
    pages = sum(file["pages"] for file in files.values())
    return sum(file["ms_a_page"] * file["pages"] for file in files.values()) / pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.pdf"))
    print(json.dumps(report(paths, options.runs), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
