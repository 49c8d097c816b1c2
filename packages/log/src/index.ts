export { type Retained, type Retention, retain } from './any-store/retain.ts';
export { type SnapshotOptions, snapshot } from './any-store/snapshot.ts';
export type { BlobRef, BlobStore } from './contract/blob-store.ts';
export type { Bus, BusListener, BusNotice } from './contract/bus.ts';
export type {
  DeleteOptions,
  Driver,
  FollowOptions,
  ForkOptions,
  Log,
  OpenOptions,
  ReadOptions,
  RestoreOptions,
  Submitted,
} from './contract/log.ts';
export { LogError, type LogErrorCode } from './contract/log-error.ts';
export type { Acknowledged, Admission, AdmitOptions, Producer } from './contract/producer.ts';
export type { LeaseInfo, SessionFilter, SessionInfo } from './contract/session-info.ts';
export { type Clock, systemClock } from './local/clock.ts';
export { type MemoryLogOptions, memoryLog } from './memory/memory-log.ts';
export { exportBlobs } from './transfer/export-blobs.ts';
export { exportSession } from './transfer/export-session.ts';
export { importBlobs } from './transfer/import-blobs.ts';
export { type ImportOptions, importSession } from './transfer/import-session.ts';
export type { Lines } from './transfer/read-lines.ts';
