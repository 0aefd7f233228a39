"""Tests of the http benchmark: python3 -m unittest discover -s bench -t ."""
