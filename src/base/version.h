/* version.h - the version of the program, the library and the packages. The Makefile reads this line too. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PROCPROF_VERSION "0.1.0"

#endif
