"""lloyal-track: carry patches on a fast upstream, and move the pin only on evidence."""

__version__ = "0.1.0"
