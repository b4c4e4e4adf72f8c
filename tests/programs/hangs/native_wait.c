// A library that waits for a reply in one function, and computes in another; neither returns.
#include <unistd.h>

void wait_for_reply(void) {
    for (;;) pause();
}

volatile unsigned long steps;

void compute_reply(void) {
    for (;;) steps++;
}
