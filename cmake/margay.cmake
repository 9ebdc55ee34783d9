# CMake toolchain file for programs that run on nodes:
#     cmake -DCMAKE_TOOLCHAIN_FILE=PREFIX/lib/margay/cmake/margay.cmake ...
# In a checkout it is cmake/margay.cmake. ctest and try_run() run programs on one node.

get_filename_component(MARGAY_ROOT "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")       # for Platform/Margay.cmake

set(CMAKE_SYSTEM_NAME Margay)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

# The user may name others of Margay's commands: -DCMAKE_Fortran_COMPILER=mpifort.
if(NOT CMAKE_C_COMPILER)
	set(CMAKE_C_COMPILER "${MARGAY_ROOT}/tools/x86_64-margay-gcc")
endif()
if(NOT CMAKE_CXX_COMPILER)
	set(CMAKE_CXX_COMPILER "${MARGAY_ROOT}/tools/x86_64-margay-g++")
endif()
if(NOT CMAKE_Fortran_COMPILER)
	set(CMAKE_Fortran_COMPILER "${MARGAY_ROOT}/tools/x86_64-margay-gfortran")
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR "${MARGAY_ROOT}/tools/margay;run;--no-prefix")

# Libraries and headers are the nodes', and what the user names with CMAKE_PREFIX_PATH or
# CMAKE_FIND_ROOT_PATH; never the host's.
if(EXISTS "${MARGAY_ROOT}/build/sysroot")
	list(APPEND CMAKE_FIND_ROOT_PATH "${MARGAY_ROOT}/build/sysroot")
else()
	list(APPEND CMAKE_FIND_ROOT_PATH "${MARGAY_ROOT}/sysroot")
endif()
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_PREFIX_PATH} "${MARGAY_ROOT}")

# find_package(MPI) asks these, and looks for headers where they say, which is in the user's cache.
if(NOT MARGAY_MPI_INCLUDE)
	execute_process(COMMAND "${MARGAY_ROOT}/tools/mpicc" -showme:incdirs
		OUTPUT_VARIABLE MARGAY_MPI_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
get_filename_component(MARGAY_MPI "${MARGAY_MPI_INCLUDE}" DIRECTORY)
list(APPEND CMAKE_FIND_ROOT_PATH "${MARGAY_MPI}")
set(MPI_C_COMPILER "${MARGAY_ROOT}/tools/mpicc" CACHE FILEPATH "")
set(MPI_CXX_COMPILER "${MARGAY_ROOT}/tools/mpicxx" CACHE FILEPATH "")
set(MPI_Fortran_COMPILER "${MARGAY_ROOT}/tools/mpifort" CACHE FILEPATH "")
set(MPIEXEC_EXECUTABLE "${MARGAY_ROOT}/tools/mpiexec" CACHE FILEPATH "")
list(REMOVE_DUPLICATES CMAKE_FIND_ROOT_PATH)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_PREFIX_PATH MARGAY_MPI_INCLUDE)

# For a function that always fails the linker only warns: in CMake's checks it is missing.
get_property(MARGAY_IS_CHECK GLOBAL PROPERTY IN_TRY_COMPILE)
if(MARGAY_IS_CHECK)
	add_link_options(-Wl,--fatal-warnings)
endif()
