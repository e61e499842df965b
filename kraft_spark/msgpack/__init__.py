"""The parts of `to_msgpack` and `from_msgpack`. docs/msgpack.md has the encoding of each type.

packing, by columns       numbers, texts, months, variants; binary_columns joins them to rows
unpacking                 bounded makes values of bytes; arrays makes columns of values
unpacking, row by row     rows and simple_values, for values that may not fit; variant_bytes
both                      types, ranges, options, errors
"""
