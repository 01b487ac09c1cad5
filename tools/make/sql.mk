# The MySQL side alone, for tests of the protocol.
$(B)/tests/serve/mysql/sql_server: $(B)/tests/serve/mysql/sql_server.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
test-programs: $(B)/tests/serve/mysql/sql_server

# ADMIN EXECUTE ... HeapProf on a live ceph-osd beside jeprof (fetches ceph-osd once, 570 MB): make bench-sql
bench-sql:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@B=$(B) bench/sql/run
.PHONY: bench-sql
