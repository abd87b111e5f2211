/* A fixed computation: sorts and hashes pseudo-random numbers, which as many threads share as the argument
   says. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1 << 18, ROUNDS = 8 };

static int threads = 1;

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void *compute(void *seed) {
    uint32_t *numbers = malloc(NUMBERS * sizeof *numbers);
    uint64_t state = (uintptr_t)seed, hash = 1469598103934665603u;
    for (int round = 0; round < ROUNDS / threads; round++) {
        for (int i = 0; i < NUMBERS; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            numbers[i] = state >> 32;
        }
        qsort(numbers, NUMBERS, sizeof *numbers, compare);
        for (int i = 0; i < NUMBERS; i++) hash = (hash ^ numbers[i]) * 1099511628211u;
    }
    free(numbers);
    return (void *)(uintptr_t)hash;
}

int main(int count, char **arguments) {
    if (count > 1) threads = atoi(arguments[1]);
    pthread_t started[threads];
    uint64_t hash = 0;
    for (int n = 0; n < threads; n++)
        if (pthread_create(&started[n], NULL, compute, (void *)(uintptr_t)(n + 1))) return 1;
    for (int n = 0; n < threads; n++) {
        void *result;
        pthread_join(started[n], &result);
        hash ^= (uintptr_t)result;
    }
    printf("%016llx\n", (unsigned long long)hash);
}
