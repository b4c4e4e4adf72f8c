"""The columns of three generations of nsys exports: of public exports (2.9.1, 3.11.2 and 3.17.2) and of NVIDIA's manuals.

Each column is a name, `!` if it may not be null, `:TYPE` unless it is an integer, `*` if it is the primary key.
"""

from __future__ import annotations

from attrs import frozen

_GPU = (
    "vmId! id! name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount"
    " pwGpuId uuid:TEXT luid chipName:TEXT cuDevice ctxswDevPath:TEXT ctrlDevPath:TEXT revision nodeMask"
    " constantMemory maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm"
    " maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX"
    " maxBlockDimY maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"
)
_ON_GPU = "start! end! deviceId! contextId! streamId! correlationId globalPid"
_IN_CONTEXT = "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid"
_KERNEL = (
    " demangledName! shortName! mangledName launchType cacheConfig registersPerThread! gridX! gridY! gridZ! blockX!"
    " blockY! blockZ! staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId!"
    " sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig"
)
_NEWER_KERNEL = (
    " qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy"
    " maxPotentialClusterSize maxActiveClusters sharedMemoryRequestedPercentage tensorSizeMinusOneElements!:TEXT"
)
_COPY = (
    " bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId"
    " migrationCause graphNodeId virtualAddress"
)
_SET = " value! bytes! graphNodeId memKind"
_NVTX = (
    "start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId uint64Value"
    " int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId jsonText:TEXT"
)
_OSRT = "start! end! eventClass! globalTid nameId! returnValue! nestingLevel callchainId!"
_ENUM = "id!* name:TEXT label:TEXT"
_COMMON = {
    "StringIds": "id!* value!:TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName!:TEXT name!:TEXT nameEnum! value!:TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "TARGET_INFO_GPU": _GPU,
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"
    ),
    "ThreadNames": "nameId! priority globalTid",
    "SCHED_EVENTS": "start! cpu! isSchedIn! globalTid",
}


@frozen
class Generation:
    """The version of nsys, its schema's version, and its tables with their columns."""

    nsys: str
    schema: str
    tables: dict[str, str]

    @property
    def meta(self) -> str:
        """The table of the export's metadata."""
        return next(name for name in self.tables if "META_DATA" in name)

    def create(self, table: str) -> str:
        lines = []
        for column in self.tables[table].split():
            name, _, kind = column.rstrip("*").partition(":")
            null = " NOT NULL" if "!" in name else ""
            key = " PRIMARY KEY" if column.endswith("*") else ""
            lines.append(f"    {name.rstrip('!')} {kind or 'INTEGER'}{null}{key}")
        return f"CREATE TABLE {table} (\n" + ",\n".join(lines) + "\n)"

    def columns(self, table: str) -> dict[str, object]:
        """The columns with the value of a row that has none for it."""
        values: dict[str, object] = {}
        for column in self.tables[table].split():
            name, _, kind = column.rstrip("*").partition(":")
            is_key = column.endswith("*")
            needed: object = None if is_key else "" if kind == "TEXT" else 0
            values[name.rstrip("!")] = needed if "!" in name else None
        return values


OF_2022 = Generation(
    "2022.2.1.31",
    "2.9.1",
    {
        **_COMMON,
        "EXPORT_META_DATA": "name!:TEXT value:TEXT",
        "CUPTI_ACTIVITY_KIND_KERNEL": _ON_GPU + _KERNEL,
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_ON_GPU} graphId! graphExecId!",
        "CUPTI_ACTIVITY_KIND_MEMCPY": _ON_GPU + _COPY,
        "CUPTI_ACTIVITY_KIND_MEMSET": _ON_GPU + _SET,
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_ON_GPU} syncType! eventId!",
        "OSRT_API": _OSRT,
        "NVTX_EVENTS": _NVTX,
    },
)
OF_2024 = Generation(
    "2024.4.1.61",
    "3.11.2",
    {
        **_COMMON,
        "META_DATA_EXPORT": "name!:TEXT value:TEXT",
        "CUPTI_ACTIVITY_KIND_KERNEL": _IN_CONTEXT + _KERNEL,
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_IN_CONTEXT} graphId! graphExecId!",
        "CUPTI_ACTIVITY_KIND_MEMCPY": _IN_CONTEXT + _COPY,
        "CUPTI_ACTIVITY_KIND_MEMSET": _IN_CONTEXT + _SET,
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_IN_CONTEXT} syncType! eventId!",
        "OSRT_API": _OSRT,
        "NVTX_EVENTS": f"{_NVTX} binaryData:TEXT",
        "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid!",
        "ENUM_CUDA_MEMCPY_OPER": _ENUM,
        "DIAGNOSTIC_EVENT": "timestamp! timestampType! source! severity! text!:TEXT globalPid",
    },
)
OF_2026 = Generation(
    "2026.2.1.90",
    "3.25.0",
    {
        **OF_2024.tables,
        "CUPTI_ACTIVITY_KIND_KERNEL": _IN_CONTEXT + _KERNEL + _NEWER_KERNEL,
        "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_IN_CONTEXT}{_COPY} copyCount",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
            f"{_IN_CONTEXT} deprecatedSyncType syncType! eventId! eventSyncId"
        ),
        "OSRT_API": f"{_OSRT} argumentsId!",
        "NVTX_EVENTS": f"{_NVTX} binaryData:TEXT eventId!*",
        "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid:TEXT numMultiprocessors",
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs utcTime:TEXT localTime:TEXT systemClockNs"),
        "SCHED_EVENTS": f"{_COMMON['SCHED_EVENTS']} threadState threadBlock",
        "GPU_METRICS": "rawTimestamp! timestamp! typeId! metricId! value!",
    },
)
GENERATIONS = (OF_2022, OF_2024, OF_2026)
