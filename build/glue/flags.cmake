# Gives single targets compiler flags of their own, after those of the whole recipe. Handed to CMake
# as CMAKE_PROJECT_TOP_LEVEL_INCLUDES; upstream's files are not changed.
#
#   LLOYAL_TRACK_FLAGS  list of TARGET=FLAGS; a target that this revision lacks is left out

function(lloyal_track_flags)
  foreach(entry IN LISTS LLOYAL_TRACK_FLAGS)
    string(REGEX MATCH "^([^=]+)=(.*)$" entry "${entry}")
    set(target "${CMAKE_MATCH_1}")
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_2}")
    if(TARGET "${target}")
      target_compile_options(${target} PRIVATE ${flags})
    endif()
  endforeach()
endfunction()

cmake_language(DEFER CALL lloyal_track_flags)
