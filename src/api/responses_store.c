/* One table of answers. Each call prepares its own statement, so that threads share none. Nothing
 * that may end a guard (base/mem.h) runs while a statement is open, or a lock is held.
 *
 * Answers wait in a list for the writing thread. A read first writes what waits, so that it finds
 * all that was kept before. */
#include "api/responses_store.h"
#include "api/responses_peers.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/wake.h"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT = 1, ROUNDS_MAX = 1024, ROW_BYTES = 256 };

struct waiting { /* an answer that is not written yet; its texts follow it, each ending with 0 */
    struct waiting *next;
    uint64_t tenant;
    size_t n_bytes; /* as the bound counts them */
    const char *id, *previous, *items, *response;
};
struct api_responses_store {
    sqlite3 *db; /* NULL: nothing is kept */
    struct thread *thread;
    struct wake wake;
    _Atomic bool is_over;
    struct lock *writing; /* held while waiting answers are written */
    struct lock *lock;    /* of the list */
    struct waiting *first, *last;
    int64_t n_waiting_bytes;
    int64_t n_bytes_max;
    _Atomic int64_t n_bytes;
    char gateway[RESPONSES_GATEWAY_BYTES];
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS gateway (name TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS responses (number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " id TEXT UNIQUE NOT NULL, previous TEXT, tenant INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " items TEXT NOT NULL, response TEXT NOT NULL);"
    "PRAGMA user_version = 1;";

/* Runs a statement without parameters. Returns its first column, or -1. */
static int64_t ask_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return number;
}

/* Reads the gateway's name, or gives it one. */
static bool settle_name(struct api_responses_store *responses)
{
    sqlite3_stmt *row = NULL;
    bool has_name = false;
    if (sqlite3_prepare_v2(responses->db, "SELECT name FROM gateway", -1, &row, NULL) != SQLITE_OK)
        return false;
    if (sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        has_name = name != NULL && strlen(name) == sizeof(responses->gateway) - 1 &&
                   strspn(name, "0123456789abcdef") == strlen(name);
        if (has_name)
            memcpy(responses->gateway, name, sizeof(responses->gateway));
    }
    sqlite3_finalize(row);
    if (has_name)
        return true;
    char sql[96];
    snprintf(sql, sizeof(sql), "DELETE FROM gateway; INSERT INTO gateway VALUES ('%s')",
             responses->gateway);
    return sqlite3_exec(responses->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static enum status open_file(struct api_responses_store *responses, const char *path,
                             struct fault *fault)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
    const char *name = path != NULL ? path : "memory";
    int code = sqlite3_open_v2(path != NULL ? path : ":memory:", &responses->db, flags, NULL);
    int64_t format = -1;
    if (code == SQLITE_OK) {
        sqlite3_limit(responses->db, SQLITE_LIMIT_ATTACHED, 0);
        code = sqlite3_exec(responses->db,
                            "PRAGMA trusted_schema = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;",
                            NULL, NULL, NULL);
    }
    if (code == SQLITE_OK)
        format = ask_number(responses->db, "PRAGMA user_version");
    if (code == SQLITE_OK && format != 0 && format != FORMAT)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "responses: %.120s has format %lld, this program writes format %d: name "
                         "another file",
                         name, (long long)format, FORMAT);
    if (code == SQLITE_OK)
        code = sqlite3_exec(responses->db, schema, NULL, NULL, NULL);
    if (code == SQLITE_OK && settle_name(responses)) {
        responses->n_bytes = ask_number(responses->db, "SELECT total(bytes) FROM responses");
        return STATUS_OK;
    }
    return fault_set(fault, STATUS_IO, "responses: %.120s can't be used as a database: %.80s", name,
                     responses->db != NULL ? sqlite3_errmsg(responses->db) : "no memory");
}

/* ---- The writer. ---- */

/* Removes the oldest answers until the rest is within the bound. */
static void evict(struct api_responses_store *responses)
{
    static const char sql[] = "DELETE FROM responses WHERE number = (SELECT min(number) FROM "
                              "responses) RETURNING bytes";
    while (responses->n_bytes > responses->n_bytes_max) {
        int64_t n = ask_number(responses->db, sql);
        if (n < 0)
            return;
        responses->n_bytes -= n;
    }
}

static bool insert(struct api_responses_store *responses, const struct waiting *row)
{
    static const char sql[] = "INSERT INTO responses (id, previous, tenant, bytes, items, response)"
                              " VALUES (?, ?, ?, ?, ?, ?)";
    sqlite3_stmt *insert = NULL;
    int code = sqlite3_prepare_v2(responses->db, sql, -1, &insert, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_text(insert, 1, row->id, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 2, row->previous, -1, SQLITE_STATIC);
        sqlite3_bind_int64(insert, 3, (int64_t)row->tenant);
        sqlite3_bind_int64(insert, 4, (int64_t)row->n_bytes);
        sqlite3_bind_text(insert, 5, row->items, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 6, row->response, -1, SQLITE_STATIC);
        code = sqlite3_step(insert);
    }
    sqlite3_finalize(insert);
    if (code != SQLITE_DONE)
        log_line(LOG_ERROR, "api", "%s can't be kept: %s", row->id, sqlite3_errstr(code));
    return code == SQLITE_DONE;
}

static struct waiting *take_first(struct api_responses_store *responses)
{
    lock_take(responses->lock);
    struct waiting *row = responses->first;
    if (row != NULL)
        responses->first = row->next;
    if (responses->first == NULL)
        responses->last = NULL;
    lock_put(responses->lock);
    return row;
}

/* Writes all that waits now. On return another thread's writes have ended too. */
static void write_waiting(struct api_responses_store *responses)
{
    struct waiting *row;
    lock_take(responses->writing);
    while ((row = take_first(responses)) != NULL) {
        if (insert(responses, row))
            responses->n_bytes += (int64_t)row->n_bytes;
        evict(responses);
        lock_take(responses->lock);
        responses->n_waiting_bytes -= (int64_t)row->n_bytes;
        lock_put(responses->lock);
        mem_give(row);
    }
    lock_put(responses->writing);
}

static void run(void *self)
{
    struct api_responses_store *responses = self;
    for (bool is_over = false; !is_over;) {
        wake_wait(&responses->wake, -1);
        is_over = responses->is_over; /* read ahead of the list */
        wake_clear(&responses->wake);
        write_waiting(responses);
    }
}

/* Copies a text behind the others, and ends it. */
static const char *put_text(char **to, const char *text, size_t n)
{
    const char *at = *to;
    memcpy(*to, text, n);
    (*to)[n] = '\0';
    *to += n + 1;
    return at;
}

enum status api_responses_store_open(struct api_responses_store **out, const char *path,
                                     int64_t n_bytes_max, struct fault *fault)
{
    struct api_responses_store *responses = mem_take(sizeof(*responses));
    responses->n_bytes_max = n_bytes_max;
    snprintf(responses->gateway, sizeof(responses->gateway), "%08x",
             (unsigned)(rng_system() & 0xffffffffu));
    enum status status = n_bytes_max > 0 ? open_file(responses, path, fault) : STATUS_OK;
    if (status != STATUS_OK) {
        sqlite3_close(responses->db);
        mem_give(responses);
        return status;
    }
    if (responses->db != NULL) {
        responses->writing = lock_open();
        responses->lock = lock_open();
        wake_open(&responses->wake);
        responses->thread = thread_start("responses", run, responses);
    }
    *out = responses;
    return STATUS_OK;
}

void api_responses_store_close(struct api_responses_store *responses)
{
    if (responses == NULL)
        return;
    if (responses->thread != NULL) {
        responses->is_over = true;
        wake_up(&responses->wake);
        thread_join(responses->thread);
        wake_close(&responses->wake);
        lock_close(responses->writing);
        lock_close(responses->lock);
    }
    sqlite3_close(responses->db);
    mem_give(responses);
}

void api_responses_store_gateway(const struct api_responses_store *responses,
                                 char out[RESPONSES_GATEWAY_BYTES])
{
    memcpy(out, responses->gateway, RESPONSES_GATEWAY_BYTES);
}

bool api_responses_store_may_keep(const struct api_responses_store *responses, size_t n_bytes)
{
    return responses->db != NULL && (int64_t)n_bytes + ROW_BYTES <= responses->n_bytes_max / 4;
}

void api_responses_store_keep(struct api_responses_store *responses,
                              const struct api_responses_store_row *row)
{
    size_t n_id = strlen(row->id), n_items = strlen(row->items), n_response = row->response.n;
    size_t n_previous = row->previous != NULL ? strlen(row->previous) : 0;
    size_t n = n_items + n_response + ROW_BYTES;
    if (!api_responses_store_may_keep(responses, n - ROW_BYTES))
        return;
    lock_take(responses->lock);
    bool fits = responses->n_waiting_bytes + (int64_t)n <= responses->n_bytes_max / 2;
    responses->n_waiting_bytes += fits ? (int64_t)n : 0;
    lock_put(responses->lock);
    struct mem_account *before = mem_account_use(NULL); /* it outlives the request */
    struct waiting *copy =
        fits ? mem_try(sizeof *copy + n_id + n_previous + n_items + n_response + 4) : NULL;
    (void)mem_account_use(before);
    if (copy == NULL) {
        log_line(LOG_ERROR, "api", "%s can't be kept: %s", row->id,
                 fits ? "there is no memory" : "too many answers wait to be written");
        lock_take(responses->lock);
        responses->n_waiting_bytes -= fits ? (int64_t)n : 0;
        lock_put(responses->lock);
        return;
    }
    char *to = (char *)(copy + 1);
    *copy = (struct waiting){ .tenant = row->tenant, .n_bytes = n };
    copy->id = put_text(&to, row->id, n_id);
    copy->previous = row->previous != NULL ? put_text(&to, row->previous, n_previous) : NULL;
    copy->items = put_text(&to, row->items, n_items);
    copy->response = put_text(&to, row->response.at, n_response);
    lock_take(responses->lock);
    if (responses->last != NULL)
        responses->last->next = copy;
    else
        responses->first = copy;
    responses->last = copy;
    lock_put(responses->lock);
    wake_up(&responses->wake);
}

static bool is_ours(const struct api_responses_store *responses, const char *id)
{
    size_t n_prefix = strlen("resp_");
    return strncmp(id, "resp_", n_prefix) == 0 &&
           strncmp(id + n_prefix, responses->gateway, strlen(responses->gateway)) == 0;
}

static void refuse(const struct api_responses_store *responses, const char *id,
                   struct api_error *error)
{
    api_error_set(error, ERROR_NO_ROUTE, NULL,
                  is_ours(responses, id)
                      ? "there is no response %.60s: it was not stored, was deleted, or left "
                        "when the storage was full. To go on from it, send its items in input"
                      : "there is no response %.60s here: another gateway, or an earlier "
                        "process, gave this id. Ask it, or send the items in input to go on",
                  id);
}

/* Copies a column. Returns false when there is no memory. */
static bool copy_column(sqlite3_stmt *row, int column, struct str *out)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    size_t n = text != NULL ? (size_t)sqlite3_column_bytes(row, column) : 0;
    if (!str_try_reserve(out, n + 1))
        return false;
    str_add(out, text != NULL ? text : "", n);
    return true;
}

/* Finds an answer. Returns false with the error set and nothing to free. */
static bool find(struct api_responses_store *responses, const char *id, uint64_t tenant,
                 struct api_responses_round *found, struct api_error *error)
{
    static const char sql[] =
        "SELECT items, response, previous FROM responses WHERE id = ? AND tenant = ?";
    sqlite3_stmt *row = NULL;
    bool has_memory = true, is_there = false;
    *found = (struct api_responses_round){ 0 };
    if (responses->db != NULL)
        write_waiting(responses);
    if (responses->db != NULL &&
        sqlite3_prepare_v2(responses->db, sql, -1, &row, NULL) == SQLITE_OK) {
        sqlite3_bind_text(row, 1, id, -1, SQLITE_STATIC);
        sqlite3_bind_int64(row, 2, (int64_t)tenant);
        is_there = sqlite3_step(row) == SQLITE_ROW;
        has_memory = !is_there ||
                     (copy_column(row, 0, &found->items) && copy_column(row, 1, &found->response) &&
                      copy_column(row, 2, &found->previous));
    }
    sqlite3_finalize(row);
    if (!has_memory)
        api_error_set(error, ERROR_CROWDED, NULL,
                      "there is no memory for the stored response now, try again later");
    else if (!is_there)
        refuse(responses, id, error);
    if (error->is_set)
        api_responses_peers_free(found);
    return !error->is_set;
}

bool api_responses_store_show(struct api_responses_store *responses, const char *id,
                              uint64_t tenant, struct str *out, struct api_error *error)
{
    struct api_responses_round found;
    if (!find(responses, id, tenant, &found, error))
        return false;
    str_add(out, found.response.at, found.response.n);
    api_responses_peers_free(&found);
    return true;
}

bool api_responses_store_round(struct api_responses_store *responses, const char *id,
                               uint64_t tenant, struct str *out, struct api_error *error)
{
    struct api_responses_round found;
    if (!find(responses, id, tenant, &found, error))
        return false;
    api_responses_peers_print(&found, out);
    api_responses_peers_free(&found);
    return true;
}

bool api_responses_store_forget(struct api_responses_store *responses, const char *id,
                                uint64_t tenant, struct api_error *error)
{
    static const char sql[] = "DELETE FROM responses WHERE id = ? AND tenant = ? RETURNING bytes";
    sqlite3_stmt *row = NULL;
    int64_t n = -1;
    if (responses->db != NULL)
        write_waiting(responses);
    if (responses->db != NULL &&
        sqlite3_prepare_v2(responses->db, sql, -1, &row, NULL) == SQLITE_OK) {
        sqlite3_bind_text(row, 1, id, -1, SQLITE_STATIC);
        sqlite3_bind_int64(row, 2, (int64_t)tenant);
        if (sqlite3_step(row) == SQLITE_ROW)
            n = sqlite3_column_int64(row, 0);
    }
    sqlite3_finalize(row);
    if (n < 0)
        refuse(responses, id, error);
    else
        responses->n_bytes -= n;
    return n >= 0;
}

/* Adds the items of one answer as an array to the rounds. */
static void add_round(const struct api_responses_round *found, const char *id, json_t *rounds,
                      struct api_error *error)
{
    json_t *items = json_loadb(found->items.at, found->items.n, 0, NULL);
    json_t *response = json_loadb(found->response.at, found->response.n, 0, NULL);
    const json_t *output = json_object_get(response, "output");
    if (!json_is_array(items) || !json_is_array(output))
        api_error_set(error, ERROR_HOUSE, NULL, "the stored response %.60s can't be read", id);
    else
        json_array_extend(items, (json_t *)(uintptr_t)output);
    json_array_append_new(rounds, items != NULL ? items : json_array());
    json_decref(response);
}

/* Finds an answer here, or at the gateway that gave its id. */
static bool find_anywhere(struct api_responses_store *responses, const char *id,
                          const struct api_responses_wanted *wanted,
                          struct api_responses_round *found, struct api_error *error)
{
    struct api_error here = { 0 }, there = { 0 };
    if (find(responses, id, wanted->tenant, found, &here))
        return true;
    if (here.kind == ERROR_NO_ROUTE && !is_ours(responses, id) && wanted->peers != NULL &&
        api_responses_peers_find(wanted->peers, id, found, &there))
        return true;
    *error = there.is_set ? there : here;
    snprintf(error->param, sizeof error->param, "previous_response_id");
    return false;
}

bool api_responses_store_replay(struct api_responses_store *responses,
                                const struct api_responses_wanted *wanted, json_t *items,
                                struct api_error *error)
{
    json_t *rounds = json_array();
    struct str next;
    str_init(&next);
    str_add_text(&next, wanted->id);
    while (next.n > 0 && !error->is_set) {
        struct api_responses_round found;
        if (json_array_size(rounds) == ROUNDS_MAX)
            api_error_set(error, ERROR_TOO_LARGE, "previous_response_id",
                          "%.60s goes on from more than %d responses", wanted->id, ROUNDS_MAX);
        else if (find_anywhere(responses, next.at, wanted, &found, error)) {
            add_round(&found, next.at, rounds, error);
            str_clear(&next);
            str_add(&next, found.previous.at, found.previous.n);
            api_responses_peers_free(&found);
        }
    }
    for (size_t i = json_array_size(rounds); i-- > 0 && !error->is_set;)
        json_array_extend(items, json_array_get(rounds, i));
    json_decref(rounds);
    str_free(&next);
    return !error->is_set;
}
