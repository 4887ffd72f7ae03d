# Compiles several C++ sources of a target as one, to save what every source spends on the same
# headers and templates. Handed to CMake as CMAKE_PROJECT_INCLUDE; upstream's files are not changed.
#
# A source's group depends on its own name only, so a source that upstream adds, or one that must
# stand alone, changes one group and leaves the objects of all others valid.
#
#   LLOYAL_TRACK_ALONE  sources (relative to the top) that are compiled by themselves
#   LLOYAL_TRACK_NEAR   sources that include a header which the patches touch: groups of their own,
#                       so that the patched variant compiles little else
#
# Must not: put a source with other flags into a group, or touch C, assembler or GPU sources.

if(NOT CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  return() # called for every project(); the outermost sees all targets
endif()

set(LLOYAL_TRACK_TARGETS llama mtmd ggml-base ggml-cpu)

function(lloyal_track_group target groups)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$" OR source MATCHES "\\$<")
      continue()
    endif()
    # Source properties of another folder's target want an absolute path.
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}" NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE name)
    get_source_file_property(flags "${source}" TARGET_DIRECTORY ${target} COMPILE_FLAGS)
    get_source_file_property(options "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    get_source_file_property(macros "${source}" TARGET_DIRECTORY ${target} COMPILE_DEFINITIONS)
    if(name IN_LIST LLOYAL_TRACK_ALONE OR flags OR options OR macros)
      set_property(SOURCE "${source}" TARGET_DIRECTORY ${target}
                   PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    string(MD5 hash "${name}")
    string(SUBSTRING "${hash}" 0 4 hash)
    math(EXPR group "0x${hash} % ${groups}")
    if(name IN_LIST LLOYAL_TRACK_NEAR)
      math(EXPR group "0x${hash} % 3")
      set(group "near${group}")
    elseif(name MATCHES "/models/")
      set(group "models${group}")
    endif()
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${group}")
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target}
                 PROPERTY SKIP_UNITY_BUILD_INCLUSION OFF)
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(lloyal_track_group_all)
  foreach(target IN LISTS LLOYAL_TRACK_TARGETS)
    if(TARGET ${target})
      get_target_property(kind ${target} TYPE)
      if(kind MATCHES "_LIBRARY$" AND NOT kind STREQUAL "INTERFACE_LIBRARY")
        lloyal_track_group(${target} 5)
      endif()
    endif()
  endforeach()
endfunction()

cmake_language(DEFER CALL lloyal_track_group_all)
