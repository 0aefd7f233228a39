"""Tests of the client benchmark: python3 -m unittest discover -s bench -t ."""
