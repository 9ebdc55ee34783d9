# What CMake has to know of the nodes: a POSIX C library, everything in one image.

set(UNIX 1)
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS FALSE)
set(CMAKE_DL_LIBS "")
set(CMAKE_SYSTEM_PREFIX_PATH "/")
set(CMAKE_SYSTEM_INCLUDE_PATH "/include")
set(CMAKE_SYSTEM_LIBRARY_PATH "/lib")
