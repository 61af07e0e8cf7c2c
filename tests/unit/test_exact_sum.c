/* SPDX-License-Identifier: Apache-2.0 */
/* test_exact_sum.c: exact sums against MPFR's correctly rounded mpfr_sum, bit for bit. */
#define _POSIX_C_SOURCE 200809L
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpfr.h>

#include "kit/check.h"

#define MOST_VALUES 6000 /* several times what the accumulator adds between two carries */
#define MOST_RANKS 8
#define SMALLEST 0x1p-1074
#define MINUS_ZERO UINT64_C(0x8000000000000000)
#define QUIET_NAN UINT64_C(0x7ff8000000000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t random_state = 20260701;

/* splitmix64: the same values in every run. */
static uint64_t random_bits(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t random_below(size_t bound) {
    return (size_t)(random_bits() % bound);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Random sign and fraction, exponent field in [lowest, highest]. */
static double random_double(unsigned lowest, unsigned highest) {
    uint64_t exponent = lowest + random_below(highest - lowest + 1);
    uint64_t bits = random_bits();
    return double_of((bits & MINUS_ZERO) | exponent << 52 | (bits & ((UINT64_C(1) << 52) - 1)));
}

/* The largest double with this exponent field. */
static double all_ones(uint64_t exponent) {
    return double_of(exponent << 52 | ((UINT64_C(1) << 52) - 1));
}

static void shuffle(double *values, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(i);
        double swapped = values[i - 1];
        values[i - 1] = values[j];
        values[j] = swapped;
    }
}

/* The sum by MPFR in the range and with the subnormals of a double. */
static double reference(const double *values, size_t count) {
    mpfr_set_emin(-1073);
    mpfr_set_emax(1024);
    mpfr_t *terms = calloc(count + 1, sizeof *terms);
    mpfr_ptr *pointers = calloc(count + 1, sizeof *pointers);
    CHECK(terms);
    CHECK(pointers);
    for (size_t i = 0; i < count; i++) {
        mpfr_init2(terms[i], 53);
        CHECK_EQ(mpfr_set_d(terms[i], values[i], MPFR_RNDN), 0);
        pointers[i] = terms[i];
    }
    mpfr_t sum;
    mpfr_init2(sum, 53);
    int direction = mpfr_sum(sum, pointers, count, MPFR_RNDN);
    mpfr_subnormalize(sum, direction, MPFR_RNDN);
    double result = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clear(sum);
    for (size_t i = 0; i < count; i++)
        mpfr_clear(terms[i]);
    free(pointers);
    free(terms);
    return isnan(result) ? double_of(QUIET_NAN) : result;
}

static double exact(const double *values, size_t count) {
    cobre_exact sum;
    cobre_exact_init(&sum);
    cobre_exact_add_n(&sum, values, count);
    return cobre_exact_round(&sum);
}

static double exact_one_by_one(const double *values, size_t count) {
    cobre_exact sum;
    cobre_exact_init(&sum);
    for (size_t i = 0; i < count; i++)
        cobre_exact_add(&sum, values[i]);
    return cobre_exact_round(&sum);
}

#define CHECK_SAME_BITS(actual, expected) same_bits(actual, expected, __FILE__, __LINE__)

static void same_bits(double actual, double expected, const char *file, int line) {
    if (bits_of(actual) != bits_of(expected))
        check_failed(file, line, "%a (%016" PRIx64 "), not %a (%016" PRIx64 ")", actual, bits_of(actual), expected,
                     bits_of(expected));
}

#define CHECK_SUM(values, count) CHECK_SAME_BITS(exact(values, count), reference(values, count))

/* For sums whose result we know ourselves: MPFR must agree, too. */
#define CHECK_SUM_IS(expected, ...)                                                                                    \
    do {                                                                                                               \
        const double values_[] = {__VA_ARGS__};                                                                        \
        CHECK_SAME_BITS(reference(values_, COUNT(values_)), expected);                                                 \
        CHECK_SAME_BITS(exact(values_, COUNT(values_)), expected);                                                     \
    } while (0)

static void random_values_of_all_exponents(void) {
    static double values[MOST_VALUES];
    for (size_t round = 0; round < 2000; round++) {
        size_t count = random_below(round % 100 ? 50 : MOST_VALUES);
        for (size_t i = 0; i < count; i++)
            values[i] = random_double(0, 2046);
        CHECK_SUM(values, count);
        CHECK_SAME_BITS(exact_one_by_one(values, count), exact(values, count));
    }
}

/* Neighbouring exponents: the bits of all values meet in the result. */
static void random_values_of_close_exponents(void) {
    double values[40];
    for (size_t round = 0; round < 20000; round++) {
        unsigned lowest = (unsigned)random_below(2040);
        size_t count = 1 + random_below(COUNT(values));
        for (size_t i = 0; i < count; i++)
            values[i] = random_double(lowest, lowest + 6);
        CHECK_SUM(values, count);
    }
}

static void heavy_cancellation(void) {
    static double values[2 * MOST_VALUES / 4 + 3];
    for (size_t round = 0; round < 500; round++) {
        size_t pairs = random_below(round % 50 ? 30 : MOST_VALUES / 4), left = random_below(4);
        for (size_t i = 0; i < pairs; i++) {
            values[2 * i] = random_double(0, 2046);
            values[2 * i + 1] = -values[2 * i];
        }
        for (size_t i = 0; i < left; i++)
            values[2 * pairs + i] = random_double(0, (unsigned)random_below(2047));
        shuffle(values, 2 * pairs + left);
        CHECK_SUM(values, 2 * pairs + left);
    }
}

static void subnormals(void) {
    static double values[MOST_VALUES];
    for (size_t round = 0; round < 500; round++) {
        size_t count = random_below(round % 50 ? 20 : MOST_VALUES);
        for (size_t i = 0; i < count; i++)
            values[i] = random_double(0, round % 2);
        CHECK_SUM(values, count);
    }
    CHECK_SUM_IS(SMALLEST, SMALLEST);
    CHECK_SUM_IS(-SMALLEST, -SMALLEST);
    CHECK_SUM_IS(DBL_MIN, DBL_MIN - SMALLEST, SMALLEST);
    CHECK_SUM_IS(DBL_MIN - SMALLEST, DBL_MIN, -SMALLEST);
}

/* Above DBL_MAX the next double would be 2^1024; halfway, 2^1024 - 2^970, the even one is 2^1024: infinity. */
static void overflow(void) {
    const double half = 0x1p970;
    CHECK_SUM_IS(DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX);
    CHECK_SUM_IS(-DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX);
    CHECK_SUM_IS((double)INFINITY, DBL_MAX, DBL_MAX);
    CHECK_SUM_IS((double)-INFINITY, -DBL_MAX, -DBL_MAX);
    CHECK_SUM_IS((double)INFINITY, DBL_MAX, half);
    CHECK_SUM_IS((double)-INFINITY, -DBL_MAX, -half);
    CHECK_SUM_IS((double)INFINITY, DBL_MAX, half, SMALLEST);
    CHECK_SUM_IS(DBL_MAX, DBL_MAX, half, -SMALLEST);
    CHECK_SUM_IS(-DBL_MAX, -DBL_MAX, -half, SMALLEST);
    CHECK_SUM_IS(DBL_MAX, DBL_MAX, nextafter(half, 0));
    CHECK_SUM_IS((double)INFINITY, 0x1p1023, 0x1p1023);
    CHECK_SUM_IS(DBL_MAX, 0x1p1023, 0x1p1023, -half, -SMALLEST);
    CHECK_SUM_IS((double)INFINITY, 0x1p1023, 0x1p1023, -half);
    CHECK_SUM_IS(SMALLEST, DBL_MAX, DBL_MAX, DBL_MAX, SMALLEST, -DBL_MAX, -DBL_MAX, -DBL_MAX);
    double values[12];
    for (size_t round = 0; round < 5000; round++) {
        for (size_t i = 0; i < COUNT(values); i++)
            values[i] = random_double(2040, 2046);
        CHECK_SUM(values, COUNT(values));
    }
}

/* x is positive, half is half the distance to the double above; the smallest double breaks the tie. */
static void check_ties_at(double x, double half) {
    double above = double_of(bits_of(x) + 1);
    double even = bits_of(x) & 1 ? above : x;
    CHECK_SUM_IS(even, x, half);
    CHECK_SUM_IS(-even, -x, -half);
    if (half > SMALLEST) {
        CHECK_SUM_IS(above, x, half, SMALLEST);
        CHECK_SUM_IS(x, x, half, -SMALLEST);
        CHECK_SUM_IS(-above, -half, -SMALLEST, -x);
        CHECK_SUM_IS(-x, SMALLEST, -half, -x);
    }
}

static void ties_at_all_positions(void) {
    const uint64_t last = (UINT64_C(1) << 52) - 1;
    for (uint64_t exponent = 2; exponent <= 2046; exponent++) {
        double half = ldexp(1, (int)exponent - 1076);
        const uint64_t fractions[] = {0, 1, last - 1, last, random_bits() & last};
        for (size_t i = 0; i < COUNT(fractions); i++)
            check_ties_at(double_of(exponent << 52 | fractions[i]), half);
    }
}

/* The bit that breaks the tie at any place below it. */
static void ties_broken_at_all_positions(void) {
    for (int bit = -1074; bit < 970; bit++) {
        CHECK_SUM_IS(0x1.0000000000001p1023, 0x1p1023, 0x1p970, ldexp(1, bit));
        CHECK_SUM_IS(0x1p1023, 0x1p1023, 0x1p970, -ldexp(1, bit));
    }
}

static void zeros(void) {
    CHECK_SAME_BITS(exact(NULL, 0), 0.0);
    CHECK_SUM_IS(0.0, 0.0);
    CHECK_SUM_IS(-0.0, -0.0);
    CHECK_SUM_IS(-0.0, -0.0, -0.0, -0.0);
    CHECK_SUM_IS(0.0, -0.0, 0.0);
    CHECK_SUM_IS(0.0, 0.0, -0.0);
    CHECK_SUM_IS(0.0, 1.5, -1.5);
    CHECK_SUM_IS(0.0, -0.0, -1.5, 1.5);
    CHECK_SUM_IS(0.0, -SMALLEST, SMALLEST, -0.0);
    CHECK_SUM_IS(-1.5, -0.0, -1.5, -0.0);
}

static void infinities_and_nan(void) {
    const double inf = (double)INFINITY, nan_result = double_of(QUIET_NAN);
    const uint64_t nans[] = {QUIET_NAN, QUIET_NAN | MINUS_ZERO, UINT64_C(0x7ff0000000000001),
                             UINT64_C(0xffffffffffffffff)};
    CHECK_SUM_IS(inf, inf);
    CHECK_SUM_IS(-inf, -inf);
    CHECK_SUM_IS(inf, inf, inf, 1);
    CHECK_SUM_IS(-inf, -inf, DBL_MAX, DBL_MAX);
    CHECK_SUM_IS(inf, -DBL_MAX, -DBL_MAX, inf, -0.0);
    CHECK_SUM_IS(-inf, -inf, -0.0);
    CHECK_SUM_IS(nan_result, inf, -inf);
    CHECK_SUM_IS(nan_result, -inf, 1, inf, inf);
    for (size_t i = 0; i < COUNT(nans); i++) {
        CHECK_SUM_IS(nan_result, double_of(nans[i]));
        CHECK_SUM_IS(nan_result, 1, double_of(nans[i]), -0.0);
        CHECK_SUM_IS(nan_result, inf, double_of(nans[i]));
        CHECK_SUM_IS(nan_result, double_of(nans[i]), -inf);
    }
}

/* Values with all bits set, of one sign: the limbs grow as fast as they can, at each offset within a limb. */
static void limbs_never_overflow(void) {
    static double values[MOST_VALUES];
    for (uint64_t exponent = 1000; exponent < 1032; exponent++) {
        double value = all_ones(exponent);
        for (int negative = 0; negative < 2; negative++) {
            for (size_t i = 0; i < MOST_VALUES; i++)
                values[i] = negative ? -value : value;
            CHECK_SUM(values, MOST_VALUES);
        }
    }
}

/* Added in blocks of any length, with a rounding in between, or one by one: the same sum. */
static void blocks_of_any_length(void) {
    static double values[MOST_VALUES];
    for (size_t i = 0; i < MOST_VALUES; i++)
        values[i] = all_ones(1024);
    double expected = reference(values, MOST_VALUES);
    for (size_t block = 1; block < 3000; block += 1 + block / 3) {
        cobre_exact sum;
        cobre_exact_init(&sum);
        for (size_t first = 0; first < MOST_VALUES; first += block) {
            size_t count = MOST_VALUES - first < block ? MOST_VALUES - first : block;
            cobre_exact_add_n(&sum, values + first, count);
            (void)cobre_exact_round(&sum);
        }
        CHECK_SAME_BITS(cobre_exact_round(&sum), expected);
    }
    CHECK_SAME_BITS(exact_one_by_one(values, MOST_VALUES), expected);
}

/* All of a sum's fields are int64, and all but the last are what the ranks add. */
static void add_fields(cobre_exact *into, const cobre_exact *from) {
    int64_t a[sizeof *into / sizeof(int64_t)], b[COUNT(a)];
    memcpy(a, into, sizeof a);
    memcpy(b, from, sizeof b);
    for (size_t i = 0; i + 1 < COUNT(a); i++)
        a[i] += b[i];
    memcpy(into, a, sizeof a);
}

static cobre_comm *single; /* one rank */

/* As it must be after an allreduce: room for additions, and for the limbs of 2^20 other ranks. */
static void check_carried(const cobre_exact *sum) {
    CHECK_EQ(sum->pending, 0);
    for (size_t i = 0; i + 1 < COBRE_EXACT_LIMBS; i++)
        CHECK(sum->limb[i] >= 0 && sum->limb[i] <= UINT32_MAX);
    CHECK(llabs(sum->limb[COBRE_EXACT_LIMBS - 1]) <= 1 << 16);
}

/* A reduction over one rank. */
static void carry(cobre_exact *sum) {
    CHECK_OK(cobre_exact_allreduce(single, sum));
    check_carried(sum);
}

static double exact_of_parts(const double *values, size_t count, size_t parts) {
    cobre_exact total;
    cobre_exact_init(&total);
    for (size_t part = 0, first = 0; part < parts; part++) {
        size_t last = part + 1 == parts ? count : first + random_below(count - first + 1);
        cobre_exact sum;
        cobre_exact_init(&sum);
        cobre_exact_add_n(&sum, values + first, last - first);
        carry(&sum);
        add_fields(&total, &sum);
        first = last;
    }
    return cobre_exact_round(&total);
}

static void any_order_and_any_split(void) {
    static double values[MOST_VALUES];
    for (size_t round = 0; round < 60; round++) {
        size_t count = round % 20 ? 1 + random_below(100) : MOST_VALUES;
        unsigned lowest = round % 3 ? 1000 : 0, highest = round % 3 ? 1060 : 2046;
        for (size_t i = 0; i < count; i++)
            values[i] = random_double(lowest, highest);
        if (round % 5 == 4)
            values[random_below(count)] = round % 2 ? (double)INFINITY : (double)NAN;
        double expected = reference(values, count);
        for (size_t parts = 1; parts <= MOST_RANKS; parts++) {
            shuffle(values, count);
            CHECK_SAME_BITS(exact(values, count), expected);
            CHECK_SAME_BITS(exact_of_parts(values, count, parts), expected);
        }
    }
}

/* What adding `value` so many times would give, by doubling. */
static cobre_exact repeated(double value, int64_t times) {
    cobre_exact sum, power;
    cobre_exact_init(&sum);
    cobre_exact_init(&power);
    cobre_exact_add(&power, value);
    for (; times > 0; times /= 2) {
        carry(&power);
        if (times % 2)
            add_fields(&sum, &power);
        carry(&sum);
        cobre_exact twice = power;
        add_fields(&twice, &power);
        power = twice;
    }
    return sum;
}

static void room_for_2_to_the_62_values(void) {
    const int64_t many = (int64_t)1 << 61;
    cobre_exact most = repeated(DBL_MAX, many), least = repeated(-DBL_MAX, many - 1);
    CHECK_SAME_BITS(cobre_exact_round(&most), (double)INFINITY);
    CHECK_SAME_BITS(cobre_exact_round(&least), (double)-INFINITY);
    add_fields(&least, &most);
    CHECK_EQ(least.values, 2 * many - 1);
    CHECK_SAME_BITS(cobre_exact_round(&least), DBL_MAX);

    most = repeated(DBL_MAX, 2 * many - 1);
    CHECK_SAME_BITS(cobre_exact_round(&most), (double)INFINITY);
    most = repeated(-SMALLEST, many);
    CHECK_SAME_BITS(cobre_exact_round(&most), -0x1p-1013);
    cobre_exact_add(&most, 0x1p-1013);
    CHECK_SAME_BITS(cobre_exact_round(&most), 0.0);
    most = repeated(-0.0, many);
    CHECK_SAME_BITS(cobre_exact_round(&most), -0.0);
}

static void no_sum_is_an_error(void) {
    CHECK_STATUS(cobre_exact_allreduce(single, NULL), COBRE_INVALID_ARGUMENT);
    CHECK_TEXT(cobre_last_error()->subject, "sum");
}

/* One rank of the tests below: the rank's thread only records, the test asserts. */
struct rank {
    pthread_t thread;
    cobre_config config;
    const double *values; /* this rank's part */
    size_t count;
    cobre_status status;
    char message[sizeof((cobre_error *)0)->message];
    cobre_exact once, twice; /* after one allreduce, and after adding the part again and another one */
    bool unchanged;
};

static void *sum_over_ranks(void *argument) {
    struct rank *rank = argument;
    cobre_comm *comm = NULL;
    cobre_exact sum;
    cobre_exact_init(&sum);
    cobre_exact_add_n(&sum, rank->values, rank->count);
    rank->status = cobre_comm_open(&rank->config, &comm);
    if (rank->status == COBRE_OK)
        rank->status = cobre_exact_allreduce(comm, &sum);
    rank->once = sum;
    cobre_exact_add_n(&sum, rank->values, rank->count);
    if (rank->status == COBRE_OK)
        rank->status = cobre_exact_allreduce(comm, &sum);
    rank->twice = sum;
    if (rank->status != COBRE_OK)
        snprintf(rank->message, sizeof rank->message, "%s", cobre_last_error()->message);
    cobre_comm_free(&comm);
    return NULL;
}

static bool without_ranks(void) {
#if COBRE_HAVE_SHM
    return false;
#else
    puts("skipped: shm is not in this build");
    return true;
#endif
}

/* Runs `body` once for each of `size` ranks, each in a thread, and waits for them. */
static void run_ranks(struct rank *ranks, size_t size, void *(*body)(void *)) {
    static unsigned runs;
    char name[64];
    snprintf(name, sizeof name, "/cobre-exact-%ld-%zu-%u", (long)getpid(), size, runs++);
    for (size_t r = 0; r < size; r++) {
        ranks[r].config = (cobre_config){
            .struct_size = sizeof(cobre_config), .backend = COBRE_SHM, .rank = r, .size = size, .shm_name = name};
        CHECK_EQ(pthread_create(&ranks[r].thread, NULL, body, &ranks[r]), 0);
    }
    for (size_t r = 0; r < size; r++)
        CHECK_EQ(pthread_join(ranks[r].thread, NULL), 0);
}

/* Deals the values out evenly: when there are fewer than ranks, some get none. */
static void deal(struct rank *ranks, size_t size, const double *values, size_t count) {
    memset(ranks, 0, size * sizeof *ranks);
    for (size_t r = 0; r < size; r++) {
        ranks[r].values = values + r * count / size;
        ranks[r].count = (r + 1) * count / size - r * count / size;
    }
}

static void check_over_ranks(size_t size, const double *values, size_t count) {
    struct rank ranks[MOST_RANKS];
    deal(ranks, size, values, count);
    run_ranks(ranks, size, sum_over_ranks);

    /* The second allreduce adds, from each rank, the first total and its part again. */
    double *all = calloc((size + 1) * count, sizeof *all);
    CHECK(all);
    for (size_t i = 0; i < (size + 1) * count; i++)
        all[i] = values[i % count];
    double once = reference(values, count), twice = reference(all, (size + 1) * count);
    free(all);
    for (size_t r = 0; r < size; r++) {
        CHECK_SAY(ranks[r].status == COBRE_OK, "rank %zu of %zu: %s", r, size, ranks[r].message);
        check_carried(&ranks[r].once);
        check_carried(&ranks[r].twice);
        CHECK_SAME_BITS(cobre_exact_round(&ranks[r].once), once);
        CHECK_SAME_BITS(cobre_exact_round(&ranks[r].twice), twice);
    }
}

static void over_real_ranks(void) {
    if (without_ranks())
        return;
    const double inf = (double)INFINITY;
    const double rare[][2] = {
        {-0.0, -0.0}, {0.0, -0.0}, {-inf, 1}, {inf, -inf}, {(double)NAN, 1}, {DBL_MAX, -SMALLEST},
    };
    static double values[MOST_VALUES];
    for (size_t size = 1; size <= MOST_RANKS; size++) {
        for (size_t i = 0; i < MOST_VALUES; i++)
            values[i] = random_double(0, 2046);
        check_over_ranks(size, values, MOST_VALUES);
        check_over_ranks(size, values, 5);
        for (size_t i = 0; i < MOST_VALUES; i++)
            values[i] = random_double(1000, 1020);
        check_over_ranks(size, values, MOST_VALUES);
        for (size_t i = 0; i < COUNT(rare); i++)
            check_over_ranks(size, rare[i], COUNT(rare[i]));
    }
}

/* Each rank's limbs as full as 1000 additions make them: added up as they are, those of eight ranks would overflow. */
static void over_real_ranks_with_full_limbs(void) {
    if (without_ranks())
        return;
    static double values[1000 * MOST_RANKS];
    for (size_t i = 0; i < COUNT(values); i++)
        values[i] = all_ones(1024);
    check_over_ranks(MOST_RANKS, values, COUNT(values));
}

/* Rank 1 leaves at once, rank 0's allreduce fails. */
static void *sum_with_nobody(void *argument) {
    struct rank *rank = argument;
    cobre_comm *comm = NULL;
    cobre_exact sum, before;
    cobre_exact_init(&sum);
    cobre_exact_add_n(&sum, rank->values, rank->count);
    before = sum;
    rank->status = cobre_comm_open(&rank->config, &comm);
    if (rank->status == COBRE_OK && rank->config.rank == 0)
        rank->status = cobre_exact_allreduce(comm, &sum);
    rank->unchanged = memcmp(&sum, &before, sizeof sum) == 0;
    cobre_comm_free(&comm);
    return NULL;
}

static void failure_changes_nothing(void) {
    if (without_ranks())
        return;
    const double values[] = {-1.5, 0x1p100};
    struct rank ranks[2];
    deal(ranks, 2, values, COUNT(values));
    run_ranks(ranks, 2, sum_with_nobody);
    CHECK_EQ(ranks[0].status, COBRE_COLLECTIVE_FAILED);
    CHECK(ranks[0].unchanged);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(random_values_of_all_exponents),
        CHECK_CASE(random_values_of_close_exponents),
        CHECK_CASE(heavy_cancellation),
        CHECK_CASE(subnormals),
        CHECK_CASE(overflow),
        CHECK_CASE(ties_at_all_positions),
        CHECK_CASE(ties_broken_at_all_positions),
        CHECK_CASE(zeros),
        CHECK_CASE(infinities_and_nan),
        CHECK_CASE(limbs_never_overflow),
        CHECK_CASE(blocks_of_any_length),
        CHECK_CASE(any_order_and_any_split),
        CHECK_CASE(room_for_2_to_the_62_values),
        CHECK_CASE(no_sum_is_an_error),
        CHECK_CASE(over_real_ranks),
        CHECK_CASE(over_real_ranks_with_full_limbs),
        CHECK_CASE(failure_changes_nothing),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &single));
    int failed = check_main(argc, argv, tests);
    CHECK_OK(cobre_comm_free(&single));
    mpfr_free_cache();
    return failed;
}
