# Files that are put into the program as they are.
$(B)/src/report/flame/flame_svg.o: src/report/flame/flame_svg.js

# Sums of hostile counts wrap, as the sums of the tools we stand in for do; nothing but the shown number depends on them.
$(foreach f,$(wildcard src/report/*.c src/report/*/*.c),$(eval CFLAGS_$(subst /,_,$(basename $(f))) += -fwrapv))
