"""What every stage returns: verdicts, items, and the documents that others build on.

Pure values (frozen msgspec structs); this room imports nothing of ours. Each document is one JSON
object with ``"schema": "lloyal-track/NAME/1"`` and ``"verdict"``; the JSON Schemas under
docs/schemas are generated from these types, so a type is the contract.
"""
