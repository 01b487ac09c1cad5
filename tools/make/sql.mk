# The MySQL side alone, for tests of the protocol.
$(B)/tests/mysql/sql_server: $(B)/tests/mysql/sql_server.o $(B)/libprogram.a
	$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
test-programs: $(B)/tests/mysql/sql_server
