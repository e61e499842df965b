/* The version of the calls and structures of this library; `library.py` has the same. */
#include "record.h"

#define LIBRARY_VERSION 1

EXPORTED const int64_t kraft_version = LIBRARY_VERSION;
