# procprof: the only build file.
#
#   make          build/procprof and build/libprocprof.so          make test     everything a change must pass
#   make run      install what is missing, build, start the demo   make check    test + sanitizers + style
#   make bench    ourselves and the peers, side by side            make install  PREFIX=/usr/local DESTDIR=
#
# A folder per variant: make B=build-asan SANITIZE=address,undefined; make B=build-assert ASSERT=1

B        ?= build
CC       ?= gcc
CFLAGS   ?= -O2 -g
PREFIX   ?= /usr/local
SANITIZE ?=
# 1 checks the invariants of base/assert.h; releases leave it empty.
ASSERT   ?= $(if $(SANITIZE),1)

PACKAGES = libmicrohttpd libcurl sqlite3 libdeflate libisal zlib libzstd libpcre2-8 liblzma openssl gnutls libedit

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wpointer-arith -Wwrite-strings -Wformat=2 \
       -Wimplicit-fallthrough $(if $(WERROR),-Werror)
SAN  = $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined)
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -Isrc -Iinclude -I$(B) -fno-omit-frame-pointer -fvisibility=hidden -pthread -MMD -MP $(WARN) $(CFLAGS) $(SAN) \
             $(if $(ASSERT),-DPROCPROF_ASSERT)

# ---- the program: the folders in the order the data travels
STAGES   = base profile format symbol report collect store serve cmd
SRC     := $(foreach s,$(STAGES),$(sort $(wildcard src/$(s)/*.c src/$(s)/*/*.c)))
OBJ     := $(SRC:%.c=$(B)/%.o)
LIB_OBJ := $(filter-out $(B)/src/cmd/main.o,$(OBJ))
LIBS     = $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm -pthread

# ---- tests: tests/PATH/test_x.c links everything but main; tests/PATH/x.test is any program that prints TAP
TEST_SRC := $(sort $(wildcard tests/*/test_*.c tests/*/*/test_*.c))
TEST_BIN := $(TEST_SRC:%.c=$(B)/%)
FUZZ_SRC := $(sort $(wildcard fuzz/*.c))
FUZZ_SRC := $(filter-out fuzz/replay.c,$(FUZZ_SRC))
REPLAY_BIN := $(FUZZ_SRC:fuzz/%.c=$(B)/fuzz/replay_%)

all: need-packages $(B)/procprof

# Rooms with rules of their own (libprocprof, the web page, benchmarks) bring a file each.
-include $(sort $(wildcard tools/make/*.mk))

need-packages:
	@tools/setup --verify build

$(B)/procprof: $(OBJ)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $(OBJ) $(LIBS)

# Tests link against this; commands register in constructors, so the program itself links the objects.
$(B)/libprogram.a: $(LIB_OBJ)
	@rm -f $@
	@$(AR) rcs $@ $(LIB_OBJ)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(CFLAGS_$(subst /,_,$(basename $<))) -c -o $@ $<

$(B)/tests/%: $(B)/tests/%.o $(B)/libprogram.a
	$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)

# A fuzz harness becomes two programs: a replay of its corpus for `make test`, and (clang) the fuzzer itself.
$(B)/fuzz/replay_%: $(B)/fuzz/%.o $(B)/fuzz/replay.o $(B)/libprogram.a
	$(CC) $(SAN) $(LDFLAGS) -o $@ $(B)/fuzz/$*.o $(B)/fuzz/replay.o $(B)/libprogram.a $(LIBS)

$(B)/fuzz/fuzz_%: $(B)/fuzz/%.o $(B)/libprogram.a
	clang $(SAN) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(B)/fuzz/$*.o $(B)/libprogram.a $(LIBS)

test-programs: $(TEST_BIN) $(REPLAY_BIN)

test:
	@tools/setup test
	@$(MAKE) --no-print-directory all test-programs
	@B=$(B) tests/run $(T)

run:
	@tools/setup run
	@$(MAKE) --no-print-directory all
	@B=$(B) tools/run-demo

check:
	@tools/setup check
	@tools/check-rooms
	@tools/check-format
	@tools/check-types
	@$(MAKE) --no-print-directory B=build-werror WERROR=1 all
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory B=build-asan SANITIZE=address,undefined CFLAGS='-O1 -g' all test-programs
	@B=build-asan tests/run --quick
	@$(MAKE) --no-print-directory B=build-tsan SANITIZE=thread CFLAGS='-O1 -g' all test-programs
	@B=build-tsan tests/run --quick --threads

# Fuzzes one target: make fuzz F=proto SECONDS=600
SECONDS ?= 60
fuzz:
	@$(MAKE) --no-print-directory B=build-fuzz CC=clang SANITIZE=address,undefined,fuzzer-no-link CFLAGS='-O1 -g' build-fuzz/fuzz/fuzz_$(F)
	@mkdir -p build-fuzz/corpus/$(F)
	cd build-fuzz && ./fuzz/fuzz_$(F) -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 corpus/$(F) ../fuzz/$(F)

bench:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@B=$(B) bench/run $(T)

install: all
	install -D -m 755 $(B)/procprof $(DESTDIR)$(PREFIX)/bin/procprof

clean:
	rm -rf build build-*

.PHONY: all need-packages test-programs test run check fuzz bench install clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
