# procprof: the only build file. `make help` lists the targets.
#
# A folder per variant: make B=build-asan SANITIZE=address,undefined; make B=build-assert ASSERT=1. V=1 shows whole commands instead of "CC src/...".

.DEFAULT_GOAL := all

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

# $(call say,CC,file): a recipe line that names the step. With V=1 it is empty, and make itself shows the commands behind $(Q).
Q    = $(if $(V),,@)
say  = $(if $(V),,@printf '%-4s %s\n' $(1) $(2))

# ---- the program: the folders in the order the data travels
STAGES   = base profile format symbol report collect store serve cmd
SRC     := $(foreach s,$(STAGES),$(sort $(wildcard src/$(s)/*.c src/$(s)/*/*.c)))
OBJ     := $(SRC:%.c=$(B)/%.o)
LIB_OBJ := $(filter-out $(B)/src/cmd/main.o,$(OBJ))
LIBS     = $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm -pthread $(WRAP)
# base/lock_rank.c checks the order of locks behind these functions.
WRAP     = $(if $(ASSERT),$(foreach f,lock unlock destroy,-Wl,--wrap=pthread_mutex_$(f)))

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
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $(OBJ) $(LIBS)

# Tests link against this; commands register in constructors, so the program itself links the objects.
$(B)/libprogram.a: $(LIB_OBJ)
	@rm -f $@
	@$(AR) rcs $@ $(LIB_OBJ)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(CFLAGS_$(subst /,_,$(basename $<))) -c -o $@ $<

$(B)/tests/%: $(B)/tests/%.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)

# A fuzz harness becomes two programs: a replay of its corpus for `make test`, and (clang) the fuzzer itself. FUZZ_OBJ_name lists
# objects that libprogram.a does not have.
$(B)/fuzz/replay_%: $(B)/fuzz/%.o $(B)/fuzz/replay.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $(B)/fuzz/$*.o $(B)/fuzz/replay.o $(FUZZ_OBJ_$*) $(B)/libprogram.a $(LIBS)

$(B)/fuzz/fuzz_%: $(B)/fuzz/%.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)clang $(SAN) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(B)/fuzz/$*.o $(FUZZ_OBJ_$*) $(B)/libprogram.a $(LIBS)

test-programs: $(TEST_BIN) $(REPLAY_BIN)

help:
	@echo 'make               build/procprof, build/libprocprof.so and the page inside them'
	@echo 'make run           installs what is missing, builds, and starts the demo cluster'
	@echo 'make test          runs every test; T=word only those whose path contains the word'
	@echo 'make check         test, formatting, types of the page, sanitizers'
	@echo 'make bench         benchmarks beside the other tools; T=word chooses'
	@echo 'make fuzz F=proto  fuzzes one target for SECONDS=60'
	@echo 'make install       into PREFIX=/usr/local below DESTDIR='
	@echo 'make deb           the Debian package'
	@echo 'make clean         removes build and build-*'
	@echo 'Benchmarks of one part: bench-agent bench-jvm bench-server bench-sql bench-symbols bench-web'
	@echo 'B=folder builds elsewhere, SANITIZE=address,undefined with sanitizers, WERROR=1 stops at warnings, V=1 shows whole commands.'

test:
	@tools/setup test
	+@tools/build B=$(B) all test-programs
	@B=$(B) tests/run $(T)

run:
	@tools/setup run
	+@tools/build B=$(B) all
	@B=$(B) tools/run-demo

check:
	@.ci/run
	+@tools/build B=build-tsan SANITIZE=thread CFLAGS='-O1 -g' all test-programs
	@B=build-tsan tests/run --threads

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

.PHONY: all help need-packages test-programs test run check fuzz bench install clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
