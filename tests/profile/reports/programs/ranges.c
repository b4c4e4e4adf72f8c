// A program with NVTX ranges of both kinds and calls of the OS runtime: `ranges STEPS SLEEP_US`.
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words) {
  int steps = atoi(words[1]), sleep_us = atoi(words[2]), nowhere = open("/dev/null", O_WRONLY);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("model");
  nvtxRangeId_t whole = nvtxRangeStartA("whole");
  for (int step = 0; step < steps; step++) {
    char name[32];
    snprintf(name, sizeof name, "step %d", step % 10);
    nvtxRangePushA(name);
    nvtxEventAttributes_t forward = {0};
    forward.version = NVTX_VERSION;
    forward.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    forward.messageType = NVTX_MESSAGE_TYPE_ASCII;
    forward.message.ascii = "forward";
    nvtxDomainRangePushEx(domain, &forward);
    if (sleep_us) usleep(sleep_us);
    else if (write(nowhere, "", 1) != 1) return 1;
    nvtxDomainRangePop(domain);
    nvtxRangePop();
  }
  nvtxRangeEnd(whole);
  return count == 0;
}
