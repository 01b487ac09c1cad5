# The page: TypeScript bundled by esbuild into few files, which the program carries inside (.incbin).

WEB_SRC   := $(shell find web/src -name '*.ts' -o -name '*.css')
WEB_FILES := index.html app.js app.css icon.svg
ESBUILD_FLAGS = --bundle --minify --charset=utf8 --target=es2020,chrome90,firefox100,safari15 --log-level=warning

$(B)/web/%.js: web/src/%.ts $(WEB_SRC)
	@mkdir -p $(@D)
	$(call say,JS,$<)
	$(Q)esbuild $< $(ESBUILD_FLAGS) --format=iife --outfile=$@

$(B)/web/app.css: web/src/style.css $(WEB_SRC)
	@mkdir -p $(@D)
	$(call say,JS,$<)
	$(Q)esbuild $< $(ESBUILD_FLAGS) --outfile=$@

$(B)/web/index.html $(B)/web/icon.svg: $(B)/web/%: web/%
	@mkdir -p $(@D)
	@cp $< $@

$(B)/web/%.gz: $(B)/web/%
	@gzip -9nc $< > $@

# Changes with the content, so that browsers ask once.
$(B)/web/etags.h: $(WEB_FILES:%=$(B)/web/%)
	@for f in $(WEB_FILES); do \
	    printf '#define WEB_ETAG_%s "\\"%s\\""\n' "$$(echo $$f | tr . _)" "$$(sha256sum $(B)/web/$$f | cut -c1-16)"; done > $@

# The viewer as one file, with marks where flame_html.c puts title and data.
$(B)/web/viewer.html: web/viewer.html $(B)/web/viewer.js $(B)/web/app.css tools/make/embed-viewer
	@tools/make/embed-viewer web/viewer.html $(B)/web/viewer.js $(B)/web/app.css > $@.part && mv $@.part $@

web: $(WEB_FILES:%=$(B)/web/%) $(B)/web/viewer.html

CFLAGS_src_report_flame_flame_html = -DWEB_DIR='"$(B)/web"'
CFLAGS_src_serve_http_web_files = -DWEB_DIR='"$(B)/web"'
$(B)/src/report/flame/flame_html.o: $(B)/web/viewer.html
$(B)/src/serve/http/web_files.o: $(WEB_FILES:%=$(B)/web/%.gz) $(B)/web/etags.h

.PHONY: web

# Makes what the page's tests and benchmarks look at.
$(B)/tests/web/flame_tool: $(B)/tests/web/flame_tool.o $(B)/libprogram.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
test-programs: $(B)/tests/web/flame_tool

# The flame graph beside async-profiler's, speedscope and d3-flame-graph: make bench-web [T="10000 100000"]
bench-web:
	@tools/setup bench
	@$(MAKE) --no-print-directory all $(B)/tests/web/flame_tool
	@B=$(abspath $(B)) node bench/web.mjs $(T)
.PHONY: bench-web
