/* The common start of every test file: cmocka, skips with reasons, and tests of code that must
 * die. */
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

/* Ends the running test as skipped; the reason must be on the list in tests/skips.txt. */
#define TEST_SKIP(reason)                                                                          \
    do {                                                                                           \
        printf("[  REASON  ] %s: %s\n", __func__, reason);                                         \
        fflush(stdout);                                                                            \
        skip();                                                                                    \
    } while (0)

/* Asserts that f(arg) ends in a failed CHECK: it runs in a child process whose words are thrown
 * away. */
static inline void test_dies(void (*f)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* cmocka catches signals in order to go on: here the abort has to be the end. */
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) != NULL)
            f(arg);
        _exit(0);
    }
    int state = 0;
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT);
}

/* Asserts that f(arg) ends in base_refuse with a sentence that contains part. */
static inline void test_refuses(void (*f)(void *arg), void *arg, const char *part)
{
    int ends[2], state = 0;
    char text[512];
    fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (dup2(ends[1], STDERR_FILENO) >= 0)
            f(arg);
        _exit(0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFEXITED(state) && WEXITSTATUS(state) == 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(strncmp(text, "shoal: ", 7), 0);
    assert_non_null(strstr(text, part));
    assert_ptr_equal(strchr(text, '\n'), text + n - 1); /* one line */
}

/* The seed of a random test, printed; TEST_SEED=n repeats a run. */
static inline uint64_t test_seed(uint64_t usual)
{
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : usual;
    printf("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* In tests the costly self-checks are on, and no line is lost when a check stops the program. */
__attribute__((constructor)) static void test_begin(void)
{
    base_verify = true;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}
