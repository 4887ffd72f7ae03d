"""``python -m tracker`` is ``lloyal-track``."""

from tracker.cli.main import run

run()
