"""One living pull request for a bump that may go, one living issue for what needs a human.

What is to be said is a ``Proposal``; what is there already is ``Seen``; ``decide`` compares the two
and is pure; ``hub`` is the only file that asks and changes GitHub. It must never force a branch,
touch a thread that somebody else opened, or say the same thing twice.
"""
