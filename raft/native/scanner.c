/*
 * Reads the records of one batch without making objects of them: checks each record, computes the checksum of their
 * content, and finds the first record of a time.
 *
 * The structures are those of `raft/records/scanner.py`, field by field. A change of one needs a new version of the
 * library (`version.c`).
 */
#include <string.h>

#include "record.h"

/* The position of the records of one batch, and the fields of its header that are needed. */
struct section {
    int64_t start, end; /* in the data, which is decompressed */
    int64_t record_count, last_offset_delta;
    int64_t base_timestamp_ms;
    int64_t append_time_ms, has_append_time; /* with LogAppendTime, the timestamp of all records */
};

struct checked {
    int64_t outcome;
    int64_t failed_record;     /* the index of the record at which the check failed */
    uint64_t content_checksum; /* 0 if it is not asked for */
};

struct found {
    int64_t is_found;
    int64_t offset_delta;
    int64_t timestamp_ms;
};

/* ---- The content checksum: the sum of the hashes of all records ------------------------------------------------ */

#define MULTIPLIER 0xc6a4a7935bd1e995u
#define SHIFT 47

INLINE uint64_t load_little_endian(const uint8_t *bytes, size_t size) {
    uint64_t word = 0;
    memcpy(&word, bytes, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/*
 * MurmurHash64A with seed 0; source: Austin Appleby, MurmurHash2, 64-bit version for 64-bit platforms. CRC-32C is not
 * used here because it is linear: when two rows swap their values, the sum of their checksums often stays the same. The
 * hash does not protect against deliberate collisions.
 */
INLINE uint64_t murmur_hash(const uint8_t *bytes, int64_t size) {
    uint64_t hashed = (uint64_t)size * MULTIPLIER;
    bool has_words = size >= 8;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t mixed = load_little_endian(bytes, 8) * MULTIPLIER;
        mixed = (mixed ^ mixed >> SHIFT) * MULTIPLIER;
        hashed = (hashed ^ mixed) * MULTIPLIER;
    }
    if (size > 0) {
        /* The last eight bytes are read again, because copying a variable number of bytes takes a call. */
        uint64_t rest = has_words ? load_little_endian(bytes + size - 8, 8) >> (64 - 8 * size)
                                  : load_little_endian(bytes, (size_t)size);
        hashed = (hashed ^ rest) * MULTIPLIER;
    }
    hashed = (hashed ^ hashed >> SHIFT) * MULTIPLIER;
    return hashed ^ hashed >> SHIFT;
}

/* ---- The loops over records ------------------------------------------------------------------------------------- */

INLINE bool has_sound_headers(struct record *record) {
    struct cursor *cursor = &record->headers;
    for (int64_t left = record->header_count; left > 0; left--) {
        struct span key = read_span(cursor);
        read_span(cursor);
        if (cursor->has_failed || key.length < 0) {
            return false;
        }
    }
    return cursor->position == cursor->end;
}

INLINE int64_t check_record(const struct section *section, struct record *record, int64_t previous_delta) {
    int64_t timestamp_ms, timestamp_us;
    if (record->headers.has_failed || record->header_count < 0) {
        return RECORD_MALFORMED;
    }
    if (record->offset_delta <= previous_delta || record->offset_delta > section->last_offset_delta) {
        return OFFSETS_DISORDERED;
    }
    if (!has_sound_headers(record)) {
        return RECORD_MALFORMED;
    }
    bool is_expressible = section->has_append_time
        ? add_timestamp(section->append_time_ms, 0, &timestamp_ms, &timestamp_us)
        : add_timestamp(section->base_timestamp_ms, record->timestamp_delta_ms, &timestamp_ms, &timestamp_us);
    return is_expressible ? DONE : TIMESTAMP_OVERFLOW;
}

INLINE struct checked check(const uint8_t *data, const struct section *section, bool with_checksum) {
    struct cursor cursor = {data + section->start, data + section->end, false};
    struct checked checked = {DONE, 0, 0};
    int64_t previous_delta = -1;
    for (int64_t index = 0; index < section->record_count; index++) {
        struct record record = read_record(&cursor);
        checked.outcome = check_record(section, &record, previous_delta);
        checked.failed_record = index;
        if (checked.outcome != DONE) {
            return checked;
        }
        previous_delta = record.offset_delta;
        if (with_checksum) {
            checked.content_checksum += murmur_hash(record.content, record.headers.end - record.content);
        }
    }
    checked.outcome = cursor.position == cursor.end ? DONE : RECORD_MALFORMED;
    return checked;
}

/* Checks all records, and that nothing lies behind them. */
EXPORTED struct checked check_records(const uint8_t *data, const struct section *section, int64_t with_checksum) {
    return with_checksum ? check(data, section, true) : check(data, section, false);
}

/* Returns the index of the first record without a key; -1 if all have one. The records were checked. */
EXPORTED int64_t find_without_key(const uint8_t *data, const struct section *section) {
    struct cursor cursor = {data + section->start, data + section->end, false};
    for (int64_t index = 0; index < section->record_count; index++) {
        if (read_record(&cursor).key.length < 0) {
            return index;
        }
    }
    return -1;
}

/* Finds the first record whose timestamp is `timestamp_ms` or later; a record behind a malformed one is not found. */
EXPORTED struct found find_first(const uint8_t *data, const struct section *section, int64_t timestamp_ms) {
    struct cursor cursor = {data + section->start, data + section->end, false};
    int64_t record_ms = section->append_time_ms;
    for (int64_t index = 0; index < section->record_count; index++) {
        struct record record = read_record(&cursor);
        bool is_sound = !record.headers.has_failed && record.header_count >= 0;
        is_sound &= record.offset_delta >= 0 && record.offset_delta <= section->last_offset_delta;
        if (!section->has_append_time) {
            is_sound &= !__builtin_add_overflow(section->base_timestamp_ms, record.timestamp_delta_ms, &record_ms);
        }
        if (!is_sound) {
            break;
        }
        if (record_ms >= timestamp_ms) {
            return (struct found){true, record.offset_delta, record_ms};
        }
    }
    return (struct found){false, 0, 0};
}
