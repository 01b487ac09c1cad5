# What the JVM tests read recordings with.
$(B)/tests/jvm/jfr_tool: $(B)/tests/jvm/jfr_tool.o $(B)/libprogram.a
	$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
test-programs: $(B)/tests/jvm/jfr_tool
