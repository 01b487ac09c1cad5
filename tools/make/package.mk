# What `make install` puts beside the program, and the Debian package. Written by hand is only what the program cannot tell of itself.
#
#   make install PREFIX=/usr/local DESTDIR=       program, library, header, pkg-config, manual, completion, service
#   make deb                                      build/procprof_VERSION_ARCH.deb
#
# pprof, jeprof and addr2line are names of other people's tools: links of these names go to lib/procprof/bin, not to bin.

SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
ZSHDIR     ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
UNITDIR    ?= $(if $(filter /usr,$(PREFIX)),/lib/systemd/system,$(PREFIX)/lib/systemd/system)
VERSION    := $(shell sed -n 's/^.define PROCPROF_VERSION "\(.*\)"/\1/p' src/base/version.h)
TREE        = $(DESTDIR)$(PREFIX)

GENERATED = $(B)/package/procprof.bash $(B)/package/_procprof $(B)/package/procprof.1 $(B)/package/procprof.conf.5
$(B)/package/procprof.bash: what = bash
$(B)/package/_procprof: what = zsh
$(B)/package/procprof.1: what = man1
$(B)/package/procprof.conf.5: what = conf5
$(GENERATED): $(B)/procprof packaging/generate packaging/generate.awk $(wildcard packaging/completion/*.in docs/man/*.in)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)packaging/generate $(B)/procprof $(what) > $@.part && mv $@.part $@
package-files: $(GENERATED)

install: install-files
install-files: $(GENERATED) $(B)/procprof
	install -d $(TREE)/lib/procprof/bin
	for name in pprof jeprof addr2line procprof; do ln -sf ../../../bin/procprof $(TREE)/lib/procprof/bin/$$name; done
	for script in $(wildcard bin/*); do install -m 755 $$script $(TREE)/lib/procprof/bin/; done
	[ ! -e $(B)/demo_be ] || install -m 755 $(B)/demo_be $(TREE)/lib/procprof/demo_be
	ln -sf ../libprocprof.so $(TREE)/lib/procprof/libprocprof.so # demo_be looks for it beside itself
	install -d $(TREE)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' packaging/procprof.pc.in > $(TREE)/lib/pkgconfig/procprof.pc
	install -D -m 644 $(B)/package/procprof.1 $(TREE)/share/man/man1/procprof.1
	install -D -m 644 $(B)/package/procprof.conf.5 $(TREE)/share/man/man5/procprof.conf.5
	install -D -m 644 $(B)/package/procprof.bash $(TREE)/share/bash-completion/completions/procprof
	install -D -m 644 $(B)/package/_procprof $(DESTDIR)$(ZSHDIR)/_procprof
	install -D -m 644 LICENSE $(TREE)/share/doc/procprof/copyright
	install -m 644 $(wildcard docs/*.md) $(TREE)/share/doc/procprof/
	install -d $(DESTDIR)$(UNITDIR)
	sed 's|@BINDIR@|$(PREFIX)/bin|; s|@CONFDIR@|$(SYSCONFDIR)/procprof|' packaging/procprof.service > $(DESTDIR)$(UNITDIR)/procprof.service
	[ -e $(DESTDIR)$(SYSCONFDIR)/procprof/procprof.conf ] || \
	    install -D -m 644 packaging/procprof.conf $(DESTDIR)$(SYSCONFDIR)/procprof/procprof.conf

deb: all $(GENERATED)
	@rm -rf $(B)/deb
	@$(MAKE) --no-print-directory install PREFIX=/usr DESTDIR=$(abspath $(B)/deb) >/dev/null
	@strip --strip-debug $(B)/deb/usr/bin/procprof $(B)/deb/usr/lib/libprocprof.so
	@gzip -9nf $(B)/deb/usr/share/man/man*/*
	@packaging/build-deb $(B)/deb $(VERSION) $(B)/procprof_$(VERSION)_$$(dpkg --print-architecture).deb

.PHONY: package-files install-files deb
