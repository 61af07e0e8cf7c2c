/* SPDX-License-Identifier: Apache-2.0 */
/* cppcheck.h: macros of libraries, whose headers cppcheck does not read. */
#define json_array_foreach(array, index, value)                                                                        \
    for (index = 0; index < json_array_size(array) && (value = json_array_get(array, index)); index++)
#define json_object_foreach(object, key, value)                                                                        \
    for (key = first_key(object); key && (value = json_object_get(object, key)); key = next_key(object, key))
