"""The carried patches themselves: what they are for, and that the check would see them go wrong."""
