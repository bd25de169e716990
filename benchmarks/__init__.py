"""How fast and how exact: `make bench` runs everything here and writes build/benchmarks.json. Not tests: nothing here fails a build."""
