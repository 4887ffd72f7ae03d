"""Many machines on one question: a plan, its parts, and the parts put together again.

A part carries the digest of all inputs of its plan. Parts of different inputs are never mixed, a
part that is missing is named and makes the whole unknown: a gap never reads as an answer.
"""
