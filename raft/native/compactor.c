/*
 * Finds the newest record of each key, and copies the records that are kept (raft/compaction/compactor.py).
 *
 * A table has the offset of the newest record of each key, by 128 bits of a keyed hash (SipHash-2-4). A client that does
 * not know the random key of the hash cannot make two keys that are taken for one.
 *
 * All calls take whole batches of data, uncompressed, whose checksums were checked. Checksums of the batches that are
 * written are left to the caller.
 */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 61
#define LENGTH_AT 8
#define LENGTH_END 12
#define EPOCH_AT 12
#define MAGIC_AT 16
#define ATTRIBUTES_AT 21
#define LAST_OFFSET_DELTA_AT 23
#define BASE_TIMESTAMP_AT 27
#define MAX_TIMESTAMP_AT 35
#define PRODUCER_ID_AT 43
#define RECORD_COUNT_AT 57
#define LOG_APPEND_TIME 0x08
#define DELETE_HORIZON 0x40
#define NO_HORIZON INT64_MIN

/* Records of one epoch are written together, in batches of about this size, and offsets this close together. */
#define LARGEST_BATCH_BYTES (64 << 10)
#define LONGEST_BATCH ((int64_t)1 << 30)

struct slot {
    uint64_t hash[2];
    int64_t offset; /* of the newest record; -1 in an empty slot */
};

struct buffer {
    uint8_t *bytes;
    size_t size, capacity;
};

struct compactor {
    uint64_t key[2];
    int64_t now_ms, new_horizon_ms;
    struct slot *slots;
    size_t slot_count, used;
    struct buffer output;
    /* The batch that is being written, at the end of the output. */
    size_t batch_at;
    int64_t base_offset, last_offset, base_timestamp_ms, max_timestamp_ms, horizon_ms;
    int32_t epoch, record_count;
};

/* Offsets and times of a damaged file may be any numbers. Sums of signed ones that overflow would be undefined. */
INLINE int64_t sum(int64_t one, int64_t other) { return (int64_t)((uint64_t)one + (uint64_t)other); }

INLINE int64_t difference(int64_t one, int64_t other) { return (int64_t)((uint64_t)one - (uint64_t)other); }

/* Big-endian numbers */

INLINE uint64_t load(const uint8_t *bytes, int size) {
    uint64_t value = 0;
    for (int index = 0; index < size; index++) {
        value = value << 8 | bytes[index];
    }
    return value;
}

INLINE void store(uint8_t *bytes, uint64_t value, int size) {
    for (int index = size - 1; index >= 0; index--) {
        bytes[index] = (uint8_t)value;
        value >>= 8;
    }
}

/* SipHash-2-4 with a result of 128 bits; source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" */

INLINE uint64_t rotated(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

INLINE void sip_rounds(uint64_t v[4], int count) {
    for (int round = 0; round < count; round++) {
        v[0] += v[1];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[0] = rotated(v[0], 32);
        v[2] += v[3];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[2] = rotated(v[2], 32);
    }
}

static void sip_hash(const uint64_t key[2], const uint8_t *bytes, size_t size, uint64_t hash[2]) {
    uint64_t v[4] = {
        key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573,
    };
    size_t index = 0;
    for (; index + 8 <= size; index += 8) {
        uint64_t word = 0;
        for (int byte = 7; byte >= 0; byte--) {
            word = word << 8 | bytes[index + byte];
        }
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)size << 56;
    for (size_t byte = 0; index + byte < size; byte++) {
        last |= (uint64_t)bytes[index + byte] << (8 * byte);
    }
    v[3] ^= last;
    sip_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xee;
    sip_rounds(v, 4);
    hash[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    sip_rounds(v, 4);
    hash[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The table */

static struct slot *slot_of(const struct compactor *compactor, const uint64_t hash[2]) {
    size_t mask = compactor->slot_count - 1, at = (size_t)hash[0] & mask;
    while (compactor->slots[at].offset >= 0
           && (compactor->slots[at].hash[0] != hash[0] || compactor->slots[at].hash[1] != hash[1])) {
        at = (at + 1) & mask;
    }
    return &compactor->slots[at];
}

static bool grow_table(struct compactor *compactor) {
    size_t count = compactor->slot_count;
    struct slot *before = compactor->slots, *slots = malloc(2 * count * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t at = 0; at < 2 * count; at++) {
        slots[at].offset = -1;
    }
    compactor->slots = slots;
    compactor->slot_count = 2 * count;
    for (size_t at = 0; at < count; at++) {
        if (before[at].offset >= 0) {
            *slot_of(compactor, before[at].hash) = before[at];
        }
    }
    free(before);
    return true;
}

/* Batches and records */

struct batch {
    const uint8_t *bytes;
    int64_t size, base_offset, base_timestamp_ms, max_timestamp_ms, horizon_ms;
    int32_t epoch, record_count;
    bool has_append_time;
    struct cursor records;
};

/* Reads the header of the batch at `position`; returns false if it does not lie in the input. */
static bool read_batch(const uint8_t *data, int64_t length, int64_t position, struct batch *batch) {
    const uint8_t *bytes = data + position;
    int64_t left = length - position;
    if (left < HEADER_BYTES) {
        return false;
    }
    batch->bytes = bytes;
    batch->size = LENGTH_END + (int64_t)(int32_t)load(bytes + LENGTH_AT, 4);
    if (batch->size < HEADER_BYTES || batch->size > left) {
        return false;
    }
    int64_t attributes = (int64_t)load(bytes + ATTRIBUTES_AT, 2);
    batch->base_offset = (int64_t)load(bytes, 8);
    batch->epoch = (int32_t)load(bytes + EPOCH_AT, 4);
    batch->base_timestamp_ms = (int64_t)load(bytes + BASE_TIMESTAMP_AT, 8);
    batch->max_timestamp_ms = (int64_t)load(bytes + MAX_TIMESTAMP_AT, 8);
    batch->record_count = (int32_t)load(bytes + RECORD_COUNT_AT, 4);
    batch->has_append_time = attributes & LOG_APPEND_TIME;
    batch->horizon_ms = attributes & DELETE_HORIZON ? batch->base_timestamp_ms : NO_HORIZON;
    batch->records = (struct cursor){bytes + HEADER_BYTES, bytes + batch->size, false};
    return true;
}

EXPORTED struct compactor *compactor_new(uint64_t key0, uint64_t key1, int64_t now_ms, int64_t new_horizon_ms) {
    struct compactor *compactor = calloc(1, sizeof *compactor);
    if (compactor == NULL) {
        return NULL;
    }
    compactor->key[0] = key0;
    compactor->key[1] = key1;
    compactor->now_ms = now_ms;
    compactor->new_horizon_ms = new_horizon_ms;
    compactor->slot_count = 1 << 10;
    compactor->slots = malloc(compactor->slot_count * sizeof *compactor->slots);
    if (compactor->slots == NULL) {
        free(compactor);
        return NULL;
    }
    for (size_t at = 0; at < compactor->slot_count; at++) {
        compactor->slots[at].offset = -1;
    }
    return compactor;
}

EXPORTED void compactor_free(struct compactor *compactor) {
    free(compactor->slots);
    free(compactor->output.bytes);
    free(compactor);
}

/* Counts the records of batches; returns an outcome. */
EXPORTED int64_t compactor_note(struct compactor *compactor, const uint8_t *data, int64_t length) {
    struct batch batch;
    for (int64_t position = 0; position < length; position += batch.size) {
        if (!read_batch(data, length, position, &batch)) {
            return RECORD_MALFORMED;
        }
        for (int32_t index = 0; index < batch.record_count; index++) {
            struct record record = read_record(&batch.records);
            if (batch.records.has_failed || record.headers.has_failed) {
                return RECORD_MALFORMED;
            }
            if (record.key.length < 0) {
                continue;
            }
            if (10 * compactor->used >= 7 * compactor->slot_count && !grow_table(compactor)) {
                return NO_MEMORY;
            }
            uint64_t hash[2];
            sip_hash(compactor->key, record.key.start, (size_t)record.key.length, hash);
            struct slot *slot = slot_of(compactor, hash);
            compactor->used += slot->offset < 0;
            slot->hash[0] = hash[0];
            slot->hash[1] = hash[1];
            slot->offset = sum(batch.base_offset, record.offset_delta);
        }
    }
    return DONE;
}

/* Writing */

static uint8_t *room(struct buffer *buffer, size_t size) {
    if (buffer->size + size > buffer->capacity) {
        size_t capacity = 2 * (buffer->size + size) + 1024;
        uint8_t *bytes = realloc(buffer->bytes, capacity);
        if (bytes == NULL) {
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    return buffer->bytes + buffer->size;
}

INLINE uint64_t to_zigzag(int64_t value) { return (uint64_t)value << 1 ^ (uint64_t)(value >> 63); }

INLINE size_t write_varint(uint8_t *bytes, int64_t number) {
    uint64_t value = to_zigzag(number);
    size_t size = 0;
    while (value >= 0x80) {
        bytes[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (uint8_t)value;
    return size;
}

/* Writes the header of the batch that is being written, which has records. */
static void end_batch(struct compactor *compactor) {
    if (compactor->record_count == 0) {
        return;
    }
    uint8_t *bytes = compactor->output.bytes + compactor->batch_at;
    bool has_horizon = compactor->horizon_ms != NO_HORIZON;
    memset(bytes, 0, HEADER_BYTES);
    store(bytes, (uint64_t)compactor->base_offset, 8);
    store(bytes + LENGTH_AT, compactor->output.size - compactor->batch_at - LENGTH_END, 4);
    store(bytes + EPOCH_AT, (uint64_t)compactor->epoch, 4);
    bytes[MAGIC_AT] = 2;
    store(bytes + ATTRIBUTES_AT, has_horizon ? DELETE_HORIZON : 0, 2);
    store(bytes + LAST_OFFSET_DELTA_AT, (uint64_t)difference(compactor->last_offset, compactor->base_offset), 4);
    store(bytes + BASE_TIMESTAMP_AT, (uint64_t)compactor->base_timestamp_ms, 8);
    store(bytes + MAX_TIMESTAMP_AT, (uint64_t)compactor->max_timestamp_ms, 8);
    memset(bytes + PRODUCER_ID_AT, 0xff, RECORD_COUNT_AT - PRODUCER_ID_AT); /* no producer */
    store(bytes + RECORD_COUNT_AT, (uint64_t)compactor->record_count, 4);
    compactor->record_count = 0;
}

static bool is_full(const struct compactor *compactor, int32_t epoch, int64_t offset, int64_t horizon_ms) {
    return compactor->record_count > 0
        && (epoch != compactor->epoch
            || compactor->output.size - compactor->batch_at >= LARGEST_BATCH_BYTES
            || difference(offset, compactor->base_offset) >= LONGEST_BATCH
            || (horizon_ms != NO_HORIZON && horizon_ms != compactor->horizon_ms));
}

static bool keep(
    struct compactor *compactor, const struct batch *batch, const struct record *record, int64_t timestamp_ms,
    int64_t horizon_ms
) {
    int64_t offset = sum(batch->base_offset, record->offset_delta);
    if (is_full(compactor, batch->epoch, offset, horizon_ms)) {
        end_batch(compactor);
    }
    if (compactor->record_count == 0) {
        if (room(&compactor->output, HEADER_BYTES) == NULL) {
            return false;
        }
        compactor->batch_at = compactor->output.size;
        compactor->output.size += HEADER_BYTES;
        compactor->base_offset = offset;
        compactor->epoch = batch->epoch;
        compactor->horizon_ms = horizon_ms;
        compactor->base_timestamp_ms = horizon_ms != NO_HORIZON ? horizon_ms : timestamp_ms;
        compactor->max_timestamp_ms = timestamp_ms;
    }
    uint8_t begin[1 + 10 + 10];
    size_t begin_size = 1;
    begin[0] = 0;
    begin_size += write_varint(begin + begin_size, difference(timestamp_ms, compactor->base_timestamp_ms));
    begin_size += write_varint(begin + begin_size, difference(offset, compactor->base_offset));
    size_t content_size = (size_t)(batch->records.position - record->content);
    uint8_t *bytes = room(&compactor->output, 10 + begin_size + content_size);
    if (bytes == NULL) {
        return false;
    }
    size_t size = write_varint(bytes, (int64_t)(begin_size + content_size));
    memcpy(bytes + size, begin, begin_size);
    memcpy(bytes + size + begin_size, record->content, content_size);
    compactor->output.size += size + begin_size + content_size;
    compactor->last_offset = offset;
    compactor->record_count++;
    if (timestamp_ms > compactor->max_timestamp_ms) {
        compactor->max_timestamp_ms = timestamp_ms;
    }
    return true;
}

/* Takes the records that are kept; returns an outcome. `compactor_output` has the batches that are finished. */
EXPORTED int64_t compactor_retain(struct compactor *compactor, const uint8_t *data, int64_t length) {
    struct batch batch;
    for (int64_t position = 0; position < length; position += batch.size) {
        if (!read_batch(data, length, position, &batch)) {
            return RECORD_MALFORMED;
        }
        for (int32_t index = 0; index < batch.record_count; index++) {
            struct record record = read_record(&batch.records);
            if (batch.records.has_failed || record.headers.has_failed) {
                return RECORD_MALFORMED;
            }
            if (record.key.length < 0) {
                continue;
            }
            uint64_t hash[2];
            sip_hash(compactor->key, record.key.start, (size_t)record.key.length, hash);
            if (slot_of(compactor, hash)->offset > sum(batch.base_offset, record.offset_delta)) {
                continue;
            }
            int64_t horizon_ms = NO_HORIZON;
            if (record.value.length < 0) {
                horizon_ms = batch.horizon_ms != NO_HORIZON ? batch.horizon_ms : compactor->new_horizon_ms;
                if (horizon_ms <= compactor->now_ms) {
                    continue;
                }
            }
            int64_t timestamp_ms =
                batch.has_append_time ? batch.max_timestamp_ms : sum(batch.base_timestamp_ms, record.timestamp_delta_ms);
            if (!keep(compactor, &batch, &record, timestamp_ms, horizon_ms)) {
                return NO_MEMORY;
            }
        }
    }
    return DONE;
}

/* Ends the batch that is being written. */
EXPORTED void compactor_finish(struct compactor *compactor) { end_batch(compactor); }

/* Returns the number of finished bytes; `compactor_bytes` has them until the next call but `compactor_taken`. */
EXPORTED int64_t compactor_finished(const struct compactor *compactor) {
    return (int64_t)(compactor->record_count > 0 ? compactor->batch_at : compactor->output.size);
}

EXPORTED const uint8_t *compactor_bytes(const struct compactor *compactor) { return compactor->output.bytes; }

/* Drops the finished bytes. */
EXPORTED void compactor_taken(struct compactor *compactor) {
    size_t finished = (size_t)compactor_finished(compactor);
    if (finished > 0) {
        memmove(compactor->output.bytes, compactor->output.bytes + finished, compactor->output.size - finished);
        compactor->output.size -= finished;
        compactor->batch_at = 0;
    }
}
