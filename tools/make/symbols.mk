# addr2line as a program of its own: the same code as `procprof addr2line`, without the libraries that the rest needs, whose loading
# takes longer than a lookup. perf and jeprof start it again and again.
$(B)/addr2line: $(B)/src/cmd/main.o $(B)/src/cmd/cmd_addr2line.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $(B)/src/cmd/main.o $(B)/src/cmd/cmd_addr2line.o $(B)/libprogram.a \
	    -Wl,--as-needed $(shell pkg-config --libs libdeflate zlib libzstd liblzma 2>/dev/null) -lm -pthread $(WRAP)
all: $(B)/addr2line

install: install-addr2line
install-addr2line: $(B)/addr2line
	install -D -m 755 $(B)/addr2line $(DESTDIR)$(PREFIX)/libexec/procprof/addr2line

# Ourselves and the other symbolisers, side by side, on large binaries fetched by package name.
bench-symbols: all
	@tools/setup bench
	@B=$(B) bench/symbols.py $(T)
.PHONY: install-addr2line bench-symbols
