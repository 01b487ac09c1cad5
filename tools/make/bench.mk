# What the benchmarks need to make their inputs.
$(B)/bench/gen: $(B)/bench/gen.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
bench-tools: $(B)/bench/gen
.PHONY: bench-tools
