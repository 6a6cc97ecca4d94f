/* A loader: a process that reads one model's file and packs its weights, so that a hostile file
 * meets no process that serves. */
#pragma once
#include "process/engine.h"

/* The job, in a memfd that the loader shares with its parent. The loader writes the result, which
 * counts only after it has ended with code 0. */
struct process_loader_job {
    char path[PATH_MAX];
    struct process_device device;
    int64_t n_bytes; /* of the packed weights, as the engine computed them */
    struct run_progress progress;
    int32_t status; /* enum status */
    uint64_t file_hash;
    struct fault fault;
};
/* Runs the job at PROCESS_CHILD_FDS; the descriptor behind it takes the weights. Returns the exit
 * code. */
int process_loader_run(process_engine_open_device *open_device);
