"""Where the papers and the hard PDFs lie that this repository does not hold: beside it, or where TEST_DATA says."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ.get("TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")
PAPERS, HARD = DATA / "papers4", DATA / "hard_pdfs"
