/*
 * Reads one record.
 *
 * A record, in the order of LOG-3. Varints are zigzag, 32 bits, 64 for the timestamp; a length of -1 means null:
 *
 *     varint length of the rest | int8 attributes | varint timestamp delta | varint offset delta
 *     varint key length | key | varint value length | value
 *     varint header count | for each header: varint key length | key | varint value length | value
 *
 * No bytes make it read outside of its input.
 */
#ifndef KRAFT_RECORD_H
#define KRAFT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))

/* The outcome of a call; `library.py` has the same. */
enum outcome {
    DONE = 0,
    RECORD_MALFORMED = -1,   /* a length or count out of range, a varint without an end, bytes left over */
    OFFSETS_DISORDERED = -2, /* offset deltas that do not rise, or lie outside of the batch */
    TIMESTAMP_OVERFLOW = -3, /* a timestamp that does not fit into int64 microseconds */
    ARROW_MALFORMED = -4,    /* Arrow offsets that point outside of their data */
    OUTPUT_FULL = -5,        /* the output is smaller than counted */
    NO_MEMORY = -6,
};

/*
 * The bytes that are left to read. After a failed read all others fail, so one check at the end of a record is
 * enough.
 */
struct cursor {
    const uint8_t *position, *end;
    bool has_failed;
};

/* Bytes of the input; null if the length is -1. */
struct span {
    const uint8_t *start;
    int64_t length;
};

INLINE int64_t fail(struct cursor *cursor) {
    cursor->position = cursor->end;
    cursor->has_failed = true;
    return 0;
}

INLINE int64_t from_zigzag(uint64_t value) { return (int64_t)(value >> 1) ^ -(int64_t)(value & 1); }

/* Reads an integer of at most `bits` bits. More bits are an error; Java (ByteUtils) ignores them. */
INLINE int64_t read_varint(struct cursor *cursor, int bits) {
    /* Most varints have one or two bytes. Code of their own makes the whole loop a quarter faster. */
    const uint8_t *bytes = cursor->position;
    int64_t left = cursor->end - bytes;
    if (left >= 1 && bytes[0] < 0x80) {
        cursor->position += 1;
        return from_zigzag(bytes[0]);
    }
    if (left >= 2 && bytes[1] < 0x80) {
        cursor->position += 2;
        return from_zigzag((bytes[0] & 0x7fu) | (uint64_t)bytes[1] << 7);
    }
    uint64_t value = 0;
    for (int index = 0; index < left; index++) {
        if (index == bits / 7 && (bytes[index] >> (bits % 7)) != 0) {
            break;
        }
        value |= (uint64_t)(bytes[index] & 0x7f) << (7 * index);
        if (bytes[index] < 0x80) {
            cursor->position += index + 1;
            return from_zigzag(value);
        }
    }
    return fail(cursor);
}

INLINE struct span read_span(struct cursor *cursor) {
    int64_t length = read_varint(cursor, 32);
    struct span span = {cursor->position, length};
    if (length < -1 || length > cursor->end - cursor->position) {
        fail(cursor);
    } else if (length > 0) {
        cursor->position += length;
    }
    return span;
}

struct record {
    int64_t timestamp_delta_ms, offset_delta;
    const uint8_t *content; /* from its key length on: the record without its length, timestamp and offset */
    struct span key, value;
    int64_t header_count;
    struct cursor headers; /* ends with the record */
};

/* Reads a record without its headers, and moves the cursor of the batch to the next record. */
INLINE struct record read_record(struct cursor *batch) {
    struct span body = read_span(batch);
    struct cursor cursor = {body.start, batch->position, batch->has_failed || body.length < 1};
    cursor.position += !cursor.has_failed; /* The attributes of a record: one byte without a meaning. */
    struct record record = {0};
    record.timestamp_delta_ms = read_varint(&cursor, 64);
    record.offset_delta = read_varint(&cursor, 32);
    record.content = cursor.position;
    record.key = read_span(&cursor);
    record.value = read_span(&cursor);
    record.header_count = read_varint(&cursor, 32);
    record.headers = cursor;
    return record;
}

/* Computes the timestamp of a record; returns false if it does not fit into int64 microseconds. */
INLINE bool add_timestamp(int64_t base_ms, int64_t delta_ms, int64_t *timestamp_ms, int64_t *timestamp_us) {
    return !__builtin_add_overflow(base_ms, delta_ms, timestamp_ms)
        && !__builtin_mul_overflow(*timestamp_ms, (int64_t)1000, timestamp_us);
}

#endif
