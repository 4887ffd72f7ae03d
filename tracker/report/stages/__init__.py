"""One module per stage: its document -> its items."""
