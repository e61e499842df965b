/*
 * The two loops over single records: from Kafka record batches (magic v2) to Arrow columns, and back; and the hashes of
 * keys. Python does the work for each batch: headers, checksums, compression.
 *
 * Each direction is one loop that runs twice: first it counts, then it writes into the buffers that the caller
 * allocated by the counts. Both runs check what they read, so no input makes them read outside of it; the input must
 * not change in between. All functions are inlined, and `is_writing` and `has_timestamps` are constants, so each run is
 * compiled by itself.
 *
 * The structures are those of `datasource/columns/structures.py`, field by field. A change of one needs a new version
 * of the library (`version.c`).
 */
#include <string.h>

#include "record.h"

/* ---- From records to columns ---------------------------------------------------------------------------------- */

/* A record batch to read, from its header. */
struct batch {
    int64_t records_start, records_end; /* position of its records in the input */
    int64_t record_count;
    int64_t base_offset, last_offset_delta;
    int64_t base_timestamp_ms, max_timestamp_ms;
    int64_t attributes;
    int64_t epoch;
    int64_t row_count; /* out: number of its records in the range */
};

/* Attribute bit: the timestamp of every record is that of the append, which is the largest timestamp of the batch. */
#define HAS_APPEND_TIME 0x08

/* An Arrow binary column to write: value i is data[offsets[i] .. offsets[i + 1]], null where its validity bit is 0. */
struct binary_output {
    int64_t byte_count; /* out */
    int64_t null_count; /* out */
    int32_t *offsets;   /* the first one is 0 already */
    uint8_t *data;
    uint8_t *validity;  /* all 0; NULL if null_count is 0 */
};

struct decoding {
    const uint8_t *input;
    struct batch *batches;
    int64_t batch_count;
    int64_t start_offset, end_offset;    /* the range: start_offset <= offset < end_offset */
    int64_t has_headers;                 /* whether to write the columns of headers */
    int64_t row_count, header_count;     /* out */
    int64_t failed_batch, failed_record; /* out: the batch, and the record in it, at which the loop failed */
    int64_t *offsets;
    int64_t *timestamps_us;
    int32_t *epochs;
    struct binary_output key, value;
    int32_t *header_offsets; /* headers of row i: header_offsets[i] .. header_offsets[i + 1]; the first one is 0 */
    struct binary_output header_key, header_value;
};

INLINE void rewind_column(struct binary_output *column) { column->byte_count = column->null_count = 0; }

INLINE void append(struct binary_output *column, int64_t index, struct span span, bool is_writing) {
    bool is_null = span.length < 0;
    if (is_writing && span.length > 0) {
        memcpy(column->data + column->byte_count, span.start, (size_t)span.length);
    }
    if (is_writing && !is_null && column->validity != NULL) {
        column->validity[index / 8] |= (uint8_t)(1 << (index % 8));
    }
    column->byte_count += is_null ? 0 : span.length;
    column->null_count += is_null;
    if (is_writing) {
        column->offsets[index + 1] = (int32_t)column->byte_count;
    }
}

INLINE int64_t append_headers(struct decoding *decoding, struct record *record, bool is_wanted, bool is_writing) {
    if (is_writing && !is_wanted) {
        return DONE; /* The first run checked them. */
    }
    struct cursor *cursor = &record->headers;
    for (int64_t left = record->header_count; left > 0; left--) {
        struct span key = read_span(cursor);
        struct span value = read_span(cursor);
        if (cursor->has_failed || key.length < 0) {
            return RECORD_MALFORMED;
        }
        if (is_wanted) {
            append(&decoding->header_key, decoding->header_count, key, is_writing);
            append(&decoding->header_value, decoding->header_count, value, is_writing);
            decoding->header_count++;
        }
    }
    return cursor->position == cursor->end ? DONE : RECORD_MALFORMED;
}

INLINE int64_t append_row(
    struct decoding *decoding, const struct batch *batch, const struct record *record, bool is_writing
) {
    bool has_append_time = batch->attributes & HAS_APPEND_TIME;
    int64_t base_ms = has_append_time ? batch->max_timestamp_ms : batch->base_timestamp_ms;
    int64_t timestamp_ms, timestamp_us;
    if (!add_timestamp(base_ms, has_append_time ? 0 : record->timestamp_delta_ms, &timestamp_ms, &timestamp_us)) {
        return TIMESTAMP_OVERFLOW;
    }
    int64_t row = decoding->row_count++;
    append(&decoding->key, row, record->key, is_writing);
    append(&decoding->value, row, record->value, is_writing);
    if (is_writing) {
        decoding->offsets[row] = batch->base_offset + record->offset_delta;
        decoding->timestamps_us[row] = timestamp_us;
        decoding->epochs[row] = (int32_t)batch->epoch;
        if (decoding->has_headers) {
            decoding->header_offsets[row + 1] = (int32_t)decoding->header_count;
        }
    }
    return DONE;
}

INLINE int64_t decode_batch(struct decoding *decoding, const struct batch *batch, bool is_writing) {
    struct cursor cursor = {decoding->input + batch->records_start, decoding->input + batch->records_end, false};
    int64_t previous_delta = -1;
    decoding->failed_record = 0;
    for (int64_t index = 0; index < batch->record_count; index++) {
        decoding->failed_record = index;
        struct record record = read_record(&cursor);
        if (record.headers.has_failed || record.header_count < 0) {
            return RECORD_MALFORMED;
        }
        if (record.offset_delta <= previous_delta || record.offset_delta > batch->last_offset_delta) {
            return OFFSETS_DISORDERED;
        }
        previous_delta = record.offset_delta;
        int64_t offset = batch->base_offset + record.offset_delta;
        bool is_wanted = decoding->start_offset <= offset && offset < decoding->end_offset;
        int64_t outcome = append_headers(decoding, &record, is_wanted && decoding->has_headers, is_writing);
        if (outcome == DONE && is_wanted) {
            outcome = append_row(decoding, batch, &record, is_writing);
        }
        if (outcome != DONE) {
            return outcome;
        }
    }
    return cursor.position == cursor.end ? DONE : RECORD_MALFORMED;
}

INLINE int64_t decode(struct decoding *shared, bool is_writing) {
    /* No written byte can be part of this copy, so the compiler keeps it in registers. */
    struct decoding decoding = *shared;
    decoding.row_count = decoding.header_count = 0;
    rewind_column(&decoding.key);
    rewind_column(&decoding.value);
    rewind_column(&decoding.header_key);
    rewind_column(&decoding.header_value);
    int64_t outcome = DONE;
    for (int64_t index = 0; index < decoding.batch_count && outcome == DONE; index++) {
        struct batch batch = decoding.batches[index];
        int64_t rows_before = decoding.row_count;
        decoding.failed_batch = index;
        outcome = decode_batch(&decoding, &batch, is_writing);
        decoding.batches[index].row_count = decoding.row_count - rows_before;
    }
    *shared = decoding;
    return outcome;
}

/* Checks all records, and counts the bytes and rows of those in the range. */
EXPORTED int64_t decode_count(struct decoding *decoding) { return decode(decoding, false); }

/* Writes the columns. Call it after `decode_count`, with the same input. */
EXPORTED int64_t decode_write(struct decoding *decoding) { return decode(decoding, true); }

/* ---- From columns to records ---------------------------------------------------------------------------------- */

/* An Arrow column of values (of lists) to read. `first` is the array's own offset into its buffers. */
struct column_input {
    const uint8_t *validity; /* NULL: no value is null */
    const uint8_t *offsets;  /* NULL: every value is null, as in a column that is not there */
    const uint8_t *data;     /* NULL for lists */
    int64_t data_size;       /* bytes (elements) that the offsets may point at */
    int64_t first;
    int64_t has_wide_offsets; /* whether they are int64, as those of large_binary, instead of int32 */
};

struct encoding {
    int64_t row_count;
    int64_t first_offset_delta; /* offset delta of the first row; the others count on from it */
    struct column_input key, value, header_lists, header_key, header_value;
    const uint8_t *timestamps_ms; /* int64 for each row; NULL: all rows have the base timestamp */
    int64_t base_timestamp_ms;    /* of the batch */
    uint8_t *output;
    int64_t output_size;
    int64_t byte_count; /* out */
};

/* The position of the bytes, or elements, of a value. The length is -1 for null, MALFORMED if they lie outside. */
struct range {
    int64_t start, length;
};
#define MALFORMED (-2)

/* Arrow expects aligned offsets, but an array that is a slice of a message may have others. */
INLINE int64_t load_offset(const struct column_input *column, int64_t index) {
    int32_t narrow;
    int64_t wide;
    if (column->has_wide_offsets) {
        memcpy(&wide, column->offsets + index * (int64_t)sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, column->offsets + index * (int64_t)sizeof narrow, sizeof narrow);
    return narrow;
}

INLINE struct range range_at(const struct column_input *column, int64_t row) {
    int64_t index = column->first + row;
    bool is_null = column->offsets == NULL
        || (column->validity != NULL && !((column->validity[index / 8] >> (index % 8)) & 1));
    if (is_null) {
        return (struct range){0, -1};
    }
    int64_t start = load_offset(column, index), end = load_offset(column, index + 1);
    if (start < 0 || end < start || end > column->data_size) {
        return (struct range){0, MALFORMED};
    }
    return (struct range){start, end - start};
}

INLINE void put_varint(struct encoding *encoding, int64_t value, bool is_writing) {
    uint64_t rest = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    do {
        if (is_writing) {
            encoding->output[encoding->byte_count] = (uint8_t)(rest < 0x80 ? rest : rest | 0x80);
        }
        encoding->byte_count++;
        rest >>= 7;
    } while (rest > 0);
}

/* Puts the length and the bytes of a value; returns false if they lie outside of their column. */
INLINE bool put_value(struct encoding *encoding, const struct column_input *column, int64_t row, bool is_writing) {
    struct range range = range_at(column, row);
    put_varint(encoding, range.length, is_writing);
    if (range.length > 0) {
        if (is_writing) {
            memcpy(encoding->output + encoding->byte_count, column->data + range.start, (size_t)range.length);
        }
        encoding->byte_count += range.length;
    }
    return range.length != MALFORMED;
}

INLINE int64_t timestamp_delta_ms(const struct encoding *encoding, int64_t row) {
    uint64_t timestamp_ms;
    memcpy(&timestamp_ms, encoding->timestamps_ms + row * (int64_t)sizeof timestamp_ms, sizeof timestamp_ms);
    return (int64_t)(timestamp_ms - (uint64_t)encoding->base_timestamp_ms);
}

/* Puts a record without its length. */
INLINE bool put_body(struct encoding *encoding, int64_t row, bool has_timestamps, bool is_writing) {
    put_varint(encoding, 0, is_writing); /* attributes */
    put_varint(encoding, has_timestamps ? timestamp_delta_ms(encoding, row) : 0, is_writing);
    put_varint(encoding, encoding->first_offset_delta + row, is_writing);
    bool is_sound = put_value(encoding, &encoding->key, row, is_writing);
    is_sound &= put_value(encoding, &encoding->value, row, is_writing);
    struct range headers = range_at(&encoding->header_lists, row);
    is_sound &= headers.length != MALFORMED;
    put_varint(encoding, headers.length > 0 ? headers.length : 0, is_writing);
    for (int64_t index = 0; index < headers.length && is_sound; index++) {
        is_sound &= put_value(encoding, &encoding->header_key, headers.start + index, is_writing);
        is_sound &= put_value(encoding, &encoding->header_value, headers.start + index, is_writing);
    }
    return is_sound;
}

INLINE int64_t encode(struct encoding *shared, bool has_timestamps, bool is_writing) {
    struct encoding encoding = *shared; /* A copy, as in `decode`. */
    encoding.byte_count = 0;
    for (int64_t row = 0; row < encoding.row_count; row++) {
        /* A record begins with its length, so it is counted before it is written. */
        struct encoding counting = encoding;
        if (!put_body(&counting, row, has_timestamps, false)) {
            return ARROW_MALFORMED;
        }
        int64_t body_size = counting.byte_count - encoding.byte_count;
        put_varint(&counting, body_size, false);
        if (is_writing && counting.byte_count > encoding.output_size) {
            return OUTPUT_FULL;
        }
        if (is_writing) {
            put_varint(&encoding, body_size, true);
            put_body(&encoding, row, has_timestamps, true);
        }
        encoding.byte_count = counting.byte_count;
    }
    shared->byte_count = encoding.byte_count;
    return DONE;
}

/* Counts the bytes of the rows as records. */
EXPORTED int64_t encode_count(struct encoding *encoding) {
    return encoding->timestamps_ms == NULL ? encode(encoding, false, false) : encode(encoding, true, false);
}

/* Writes the records. Call it after `encode_count`, with the same columns. */
EXPORTED int64_t encode_write(struct encoding *encoding) {
    return encoding->timestamps_ms == NULL ? encode(encoding, false, true) : encode(encoding, true, true);
}

/* ---- Hashes of keys ------------------------------------------------------------------------------------------- */

struct hashing {
    int64_t row_count;
    struct column_input key;
    uint32_t *hashes; /* out: FNV-1a of the bytes of each key; of no bytes if it is null */
};

#define FNV_BASIS 2166136261u
#define FNV_PRIME 16777619u

EXPORTED int64_t hash_keys(const struct hashing *hashing) {
    for (int64_t row = 0; row < hashing->row_count; row++) {
        struct range range = range_at(&hashing->key, row);
        if (range.length == MALFORMED) {
            return ARROW_MALFORMED;
        }
        uint32_t hash = FNV_BASIS;
        for (int64_t index = 0; index < range.length; index++) {
            hash = (hash ^ hashing->key.data[range.start + index]) * FNV_PRIME;
        }
        hashing->hashes[row] = hash;
    }
    return DONE;
}
