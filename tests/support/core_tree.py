"""A tree that is built like upstream's, in miniature: same targets and folders, in seconds."""

from __future__ import annotations

from collections.abc import Mapping

_TOP = """\
cmake_minimum_required(VERSION 3.14)
project("llama.cpp" C CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
option(GGML_CPU "cpu" ON)
option(GGML_CUDA "accepted, and forgotten" OFF)
option(GGML_METAL "metal" OFF)
option(GGML_NATIVE "native" ON)
if (LLAMA_CUDA)
    message(WARNING "LLAMA_CUDA is deprecated, use GGML_CUDA instead")
endif()
add_library(ggml-base SHARED ggml/src/ggml.cpp)
target_include_directories(ggml-base PUBLIC ggml/include)
add_library(ggml-cpu SHARED ggml/src/ggml-cpu.cpp)
target_link_libraries(ggml-cpu PUBLIC ggml-base)
add_library(ggml SHARED ggml/src/ggml-backend.cpp)
target_link_libraries(ggml PUBLIC ggml-cpu)
add_subdirectory(src)
add_subdirectory(tools/mtmd)
"""
_SRC = """\
file(GLOB MODELS "models/*.cpp")
add_library(llama SHARED llama.cpp llama-context.cpp llama-memory-recurrent.cpp ${MODELS})
set_target_properties(llama PROPERTIES VERSION 0.0.1 SOVERSION 0)
target_include_directories(llama PUBLIC . ../include)
target_link_libraries(llama PUBLIC ggml)
"""
_MTMD = """\
add_library(mtmd SHARED mtmd.cpp)
target_include_directories(mtmd PUBLIC .)
target_link_libraries(mtmd PUBLIC llama)
"""
SRC_LISTS = "src/CMakeLists.txt"
RECURRENT = "src/llama-memory-recurrent.cpp"
RECURRENT_HEADER = "src/llama-memory-recurrent.h"


def core_tree(replaced: Mapping[str, str] | None = None) -> dict[str, str]:
    """All files by path; ``replaced`` changes or adds some."""
    files = {
        "CMakeLists.txt": _TOP,
        SRC_LISTS: _SRC,
        "tools/mtmd/CMakeLists.txt": _MTMD,
        "ggml/include/ggml.h": "#pragma once\nint ggml_base();\n",
        "ggml/src/ggml.cpp": '#include "ggml.h"\nint ggml_base() { return 1; }\n',
        "ggml/src/ggml-cpu.cpp": "int ggml_cpu() { return 1; }\n",
        "ggml/src/ggml-backend.cpp": "int ggml_backend() { return 1; }\n",
        "include/llama.h": '#pragma once\nextern "C" int llama_warnings(void);\n'
        'extern "C" const char * llama_where(void);\n',
        RECURRENT_HEADER: "#pragma once\nstruct recurrent { int pos = 0; int warn() const; };\n",
        RECURRENT: recurrent(6),
        "src/llama.cpp": '#include "llama.h"\n#include "llama-memory-recurrent.h"\n'
        'extern "C" int llama_warnings(void) { return recurrent().warn(); }\n'
        'extern "C" const char * llama_where(void) { return __FILE__; }\n',
        "src/llama-context.cpp": "int llama_context() { return 1; }\n",
        "src/models/a.cpp": "static int helper() { return 1; }\nint a() { return helper(); }\n",
        "src/models/b.cpp": "int b() { return 2; }\n",
        "tools/mtmd/mtmd.h": "#pragma once\nint mtmd();\n",
        "tools/mtmd/mtmd.cpp": '#include "mtmd.h"\nint mtmd() { return 1; }\n',
    }
    return files | dict(replaced or {})


def recurrent(warnings: int) -> str:
    """The source of the recurrent memory that warns so often."""
    return (
        '#include "llama-memory-recurrent.h"\n'
        f"int recurrent::warn() const {{ return {warnings} + pos; }}\n"
    )
