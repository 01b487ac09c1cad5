# libprocprof: the profiler that lives in other people's processes. libc only; everything hidden but what src/agent/procprof.map names.

AGENT_BASE    := src/base/err.c
AGENT_SRC     := $(sort $(filter-out src/agent/hot/%,$(wildcard src/agent/*.c src/agent/*/*.c))) $(AGENT_BASE)
AGENT_HOT_SRC := $(sort $(wildcard src/agent/hot/*.c)) src/base/rd.c
AGENT_OBJ     := $(AGENT_SRC:%.c=$(B)/agent/%.o)
AGENT_HOT_ASM := $(sort $(wildcard src/agent/hot/*.S))
AGENT_HOT_OBJ := $(AGENT_HOT_SRC:%.c=$(B)/agent/%.o) $(AGENT_HOT_ASM:%.S=$(B)/agent/%.o)
AGENT_MAP     := src/agent/procprof.map
OBJCOPY       ?= objcopy

# Sanitizers stand in for malloc and the lock functions themselves, before they are ready for ours: there the hooks get other names.
AGENT_HOOKS = $$(sed -n '/global:/,/local:/p' $(AGENT_MAP) | grep -o '[A-Za-z_][A-Za-z0-9_]*;' | tr -d ';' | grep -v '^pp_')
AGENT_HIDE_HOOKS = mkdir -p $(B)/agent/hidden && for object in $(AGENT_HOT_OBJ); do \
    $(OBJCOPY) $$(for hook in $(AGENT_HOOKS); do echo "--redefine-sym $$hook=hook_$$hook"; done) $$object $(B)/agent/hidden/$$(basename $$object); done

# Static TLS: a handler may not enter the loader. Frame pointers: unwind_here starts from its own.
AGENT_CFLAGS = $(ALL_CFLAGS) -fPIC -ftls-model=initial-exec -fno-stack-protector -fno-plt

# Hot code may not print, so a broken invariant there is a trap (base/assert.h).
$(AGENT_HOT_OBJ): AGENT_CFLAGS += -DPROCPROF_HOT

all: $(B)/libprocprof.so $(B)/libprocprof.a

$(B)/agent/%.o: %.c Makefile tools/make/agent.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(AGENT_CFLAGS) -c -o $@ $<

$(B)/agent/%.o: %.S Makefile tools/make/agent.mk
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CC) $(filter -fcf-protection%,$(CFLAGS)) -Isrc -MMD -MP -c -o $@ $<

# One object of all hot code, so that what it needs from outside can be read off it.
$(B)/agent/hot.o: $(AGENT_HOT_OBJ) tools/hot-symbols.txt tools/check-hot
	$(call say,LD,$@)
	$(Q)$(LD) -r -o $@ $(AGENT_HOT_OBJ)
	@$(if $(SANITIZE),:,tools/check-hot $@)

# nodelete: its handlers, threads and hooks of fork must find their code when a host has called dlclose.
$(B)/libprocprof.so: $(AGENT_OBJ) $(B)/agent/hot.o $(AGENT_MAP) $(if $(SANITIZE),$(B)/libagent.a)
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) -shared -Wl,-soname,libprocprof.so -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,-z,nodelete $(if $(SANITIZE),,-Wl,-z,defs) \
	    -Wl,--version-script=$(AGENT_MAP) -o $@ $(if $(SANITIZE),$(B)/agent/inside.o,$(AGENT_OBJ) $(B)/agent/hot.o) -pthread

# The static library is one object too: kinds register through a section, and no internal name may meet the host's.
$(B)/libprocprof.a: $(AGENT_OBJ) $(B)/agent/hot.o $(AGENT_MAP)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(B)/agent/procprof.o $(AGENT_OBJ) $(B)/agent/hot.o
	$(Q)sed -n '/global:/,/local:/p' $(AGENT_MAP) | grep -o '[A-Za-z_][A-Za-z0-9_]*;' | tr -d ';' >$(B)/agent/exported
	$(Q)$(OBJCOPY) --keep-global-symbols=$(B)/agent/exported $(B)/agent/procprof.o
	@rm -f $@
	$(Q)$(AR) rcs $@ $(B)/agent/procprof.o

# The unwinder must not need what most programs do not have.
CFLAGS_tests_agent_hot_test_unwind = -O2 -fomit-frame-pointer
CFLAGS_tests_agent_sample_test_cpu = -O2 -fomit-frame-pointer

# Tests reach the inside: they link the objects, not the library.
$(B)/libagent.a: $(AGENT_OBJ) $(AGENT_HOT_OBJ)
	@rm -f $@
	@$(if $(SANITIZE),$(AGENT_HIDE_HOOKS))
	@$(LD) -r -o $(B)/agent/inside.o $(AGENT_OBJ) $(if $(SANITIZE),$(AGENT_HOT_OBJ:$(B)/agent/src/agent/hot/%=$(B)/agent/hidden/%),$(AGENT_HOT_OBJ))
	@$(AR) rcs $@ $(B)/agent/inside.o

$(B)/tests/agent/%: $(B)/tests/agent/%.o $(B)/libagent.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libagent.a -lm -pthread

# These tests refuse the library memory: all of it comes from these two functions.
$(B)/tests/agent/host/test_no_memory $(B)/tests/agent/heap/test_jemalloc_find: LDFLAGS += -Wl,--wrap=mmap,--wrap=mremap

# Harnesses of the agent's parsers link just those files of the agent: with all of it they would get its malloc and its locks too.
FUZZ_OBJ_agent_http = $(B)/agent/src/agent/http/http_request.o
FUZZ_OBJ_cfi = $(patsubst %,$(B)/agent/src/agent/%.o,hot/cfi_entry hot/cfi_program hot/cfi_expression unwind/cfi unwind/cfi_rules host/pages)
$(foreach name,agent_http cfi,$(eval $(B)/fuzz/replay_$(name) $(B)/fuzz/fuzz_$(name): $(FUZZ_OBJ_$(name))))

# The example backend, linked as a host would link it: against the shared library, by its public header alone.
all: $(B)/demo_be
$(B)/demo_be: examples/demo_be.c include/procprof.h $(B)/libprocprof.so
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -Iinclude $(WARN) $(CFLAGS) $(SAN) -pthread -o $@ $< -L$(B) -lprocprof -Wl,-rpath,'$$ORIGIN'

# Programs that know nothing of the library, into which tests preload it. No sanitizer: they are hosts as users have them.
HOST_PROGRAMS := $(addprefix $(B)/tests/e2e/,host_cpp plugin.so stress malloc_guard)
HOST_FLAGS := -O2 -g -fomit-frame-pointer -pthread
test-programs: $(HOST_PROGRAMS)
$(B)/tests/e2e/host_cpp: tests/e2e/agent_hosts/host.cpp
$(B)/tests/e2e/plugin.so: tests/e2e/agent_hosts/plugin.cpp
$(B)/tests/e2e/plugin.so: HOST_FLAGS += -shared -fPIC
$(B)/tests/e2e/stress: tests/e2e/agent_stress/stress.cpp
$(B)/tests/e2e/malloc_guard: tests/e2e/agent_stress/malloc_guard.c
$(B)/tests/e2e/malloc_guard: HOST_FLAGS += -fno-builtin
$(HOST_PROGRAMS):
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(if $(filter %.c,$<),$(CC),$(CXX)) $(HOST_FLAGS) -o $@ $< -ldl

install: install-agent
install-agent: $(B)/libprocprof.so $(B)/libprocprof.a
	install -D -m 755 $(B)/libprocprof.so $(DESTDIR)$(PREFIX)/lib/libprocprof.so
	install -D -m 644 $(B)/libprocprof.a $(DESTDIR)$(PREFIX)/lib/libprocprof.a
	install -D -m 644 include/procprof.h $(DESTDIR)$(PREFIX)/include/procprof.h
.PHONY: install-agent

# Ourselves and the peers inside a process, side by side: make bench-agent [T=malloc]
bench-agent:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@B=$(B) bench/agent/run $(T)
.PHONY: bench-agent
