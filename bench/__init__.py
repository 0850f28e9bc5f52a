"""Measures twinlog beside its peers in the same run and compares the ratios with what is promised: python -m bench."""
