// One rank of a training loop on a CPU, with NVTX ranges and a data loader in a thread of its own: `training STEPS`.
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int steps, loaded;
static volatile double weight = 1;

// Computes for this long.
static void compute(const char *name, int us) {
  struct timespec begin, now;
  nvtxRangePushA(name);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int i = 0; i < 1000; i++) weight = weight * 0.999 + 0.001;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1e6 + (now.tv_nsec - begin.tv_nsec) / 1e3 < us);
  nvtxRangePop();
}

static void *load(void *unused) {
  pthread_setname_np(pthread_self(), "data loader");
  for (int batch = 0; batch < steps; batch++) {
    nvtxRangePushA("load batch");
    // Each eighth batch comes from a slow file.
    usleep(batch % 8 == 7 ? 45000 : 9000);
    nvtxRangePop();
    pthread_mutex_lock(&lock);
    loaded++;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(int count, char **arguments) {
  pthread_t loader;
  steps = count > 1 ? atoi(arguments[1]) : 30;
  pthread_create(&loader, NULL, load, NULL);
  for (int step = 0; step < steps; step++) {
    char name[32];
    snprintf(name, sizeof name, "step %d", step);
    nvtxRangePushA(name);
    nvtxRangePushA("wait for batch");
    pthread_mutex_lock(&lock);
    while (loaded <= step) pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    nvtxRangePop();
    compute("forward", 6000);
    compute("backward", 11000);
    nvtxRangePushA("all-reduce");
    usleep(step % 5 == 4 ? 14000 : 4000);
    nvtxRangePop();
    compute("optimizer", 2000);
    nvtxRangePop();
  }
  pthread_join(loader, NULL);
  return 0;
}
