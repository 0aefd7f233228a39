"""The http benchmark: `python3 -m bench.http.run`."""
