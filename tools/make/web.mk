# The page: TypeScript bundled by esbuild into few files, which the program carries inside (.incbin).

WEB_SRC := $(shell find web/src -name '*.ts' -o -name '*.css') $(wildcard web/*.html)
WEB_OUT := $(B)/web/app.js $(B)/web/app.css $(B)/web/index.html $(B)/web/viewer.html
ESBUILD_FLAGS = --bundle --minify --charset=utf8 --target=es2020,chrome90,firefox100,safari15 --log-level=warning

$(B)/web/%.js: web/src/%.ts $(WEB_SRC)
	@mkdir -p $(@D)
	esbuild $< $(ESBUILD_FLAGS) --format=iife --outfile=$@

$(B)/web/app.css: web/src/style.css $(WEB_SRC)
	@mkdir -p $(@D)
	esbuild $< $(ESBUILD_FLAGS) --outfile=$@

$(B)/web/index.html: web/index.html
	@mkdir -p $(@D)
	@cp $< $@

$(B)/web/viewer.html: web/viewer.html $(B)/web/viewer.js $(B)/web/app.css tools/make/embed-viewer
	tools/make/embed-viewer web/viewer.html $(B)/web/viewer.js $(B)/web/app.css > $@.part && mv $@.part $@

web: $(WEB_OUT)

CFLAGS_src_report_flame_html = -DWEB_DIR='"$(B)/web"'
$(B)/src/report/flame_html.o: $(B)/web/viewer.html

.PHONY: web

# Makes what the page's tests and benchmarks look at.
$(B)/tests/web/flame_tool: $(B)/tests/web/flame_tool.o $(B)/libprogram.a
	$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(B)/libprogram.a $(LIBS)
test-programs: $(B)/tests/web/flame_tool
