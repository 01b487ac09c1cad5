# Files that are put into the program as they are.
$(B)/src/report/flame_svg.o: src/report/flame_svg.js
