#include "CLockstep.h"

#include <string.h>

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t advance(uint32_t remainder, const uint8_t *bytes, size_t count) {
    uint64_t wide = remainder;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    remainder = (uint32_t)wide;
    for (; count > 0; bytes++, count--) {
        remainder = __builtin_ia32_crc32qi(remainder, *bytes);
    }
    return remainder;
}

static bool has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__ARM_FEATURE_CRC32)

static uint32_t advance(uint32_t remainder, const uint8_t *bytes, size_t count) {
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        remainder = __builtin_arm_crc32cd(remainder, word);
    }
    for (; count > 0; bytes++, count--) {
        remainder = __builtin_arm_crc32cb(remainder, *bytes);
    }
    return remainder;
}

static bool has_instruction(void) { return true; }

#else

static uint32_t advance(uint32_t remainder, const uint8_t *bytes, size_t count) { return remainder; }

static bool has_instruction(void) { return false; }

#endif

bool clockstep_crc32c(uint32_t *remainder, const void *bytes, size_t count) {
    if (!has_instruction()) {
        return false;
    }
    *remainder = advance(*remainder, bytes, count);
    return true;
}
