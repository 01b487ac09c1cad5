# The server at scale; see bench/server.py.
bench-server: all
	@B=$(B) bench/server.py
.PHONY: bench-server
