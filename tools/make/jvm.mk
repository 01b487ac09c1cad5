# What the JVM tests read recordings with.
$(B)/tests/collect/jfr_tool: $(B)/tests/collect/jfr_tool.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
test-programs: $(B)/tests/collect/jfr_tool

bench-jvm:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@B=$(B) bench/jvm.py
.PHONY: bench-jvm
