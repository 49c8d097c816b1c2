export { stateAfterRun } from '@millrace/core';
export { type ReadBackwardOptions, readBackward, readRecords } from './any-log/read-session.ts';
export { type RetentionPolicy, type RetentionResult, retain } from './any-log/retain.ts';
export { findRunEnd, type RunEndOptions } from './any-log/run-ends.ts';
export {
  SessionStates,
  type SessionStatesOptions,
  sessionStates,
} from './any-log/session-states.ts';
export { type SnapshotOptions, snapshot } from './any-log/snapshot.ts';
export type { StoredFold } from './any-log/snapshot-cuts.ts';
export type { LoadedSession, SessionFold } from './any-log/state-cache.ts';
export {
  type ComputedValue,
  storedValue,
  storeValue,
  type ValueName,
} from './any-log/stored-value.ts';
export type { ChainOrigin, ChainProblem, ChainReport, ChainRewrite } from './chain/check-chain.ts';
export type { OffsetRange } from './chain/link.ts';
export { type Ed25519Key, parseHead, type SignedHead, signHead } from './chain/signed-head.ts';
export {
  type ExportReport,
  type VerifyOptions,
  verifyExport,
  verifySession,
} from './chain/verify.ts';
export type { BlobRef, BlobStore } from './contract/blob-store.ts';
export type { Bus, BusListener, BusNotice } from './contract/bus.ts';
export { type Clock, systemClock } from './contract/clock.ts';
export type {
  DeleteOptions,
  Driver,
  FollowOptions,
  ForkOptions,
  FoundCommand,
  Log,
  OpenOptions,
  ReadOptions,
  RestoreOptions,
  SettleOptions,
  SubmitResult,
} from './contract/log.ts';
export { LogError, type LogErrorCode } from './contract/log-error.ts';
export type { Admission, AdmitOptions, AppendAck, Producer } from './contract/producer.ts';
export type { LeaseInfo, SessionFilter, SessionInfo } from './contract/session-info.ts';
export type {
  SnapshotPart,
  SnapshotReadOptions,
  SnapshotStore,
  SnapshotWrite,
} from './contract/snapshot-store.ts';
export { type MemoryLogOptions, memoryLog } from './memory/memory-log.ts';
export { exportSession } from './transfer/export-session.ts';
export { type ImportOptions, importSession } from './transfer/import-session.ts';
export type { LineSource } from './transfer/lines.ts';
export { exportBlobs, importBlobs } from './transfer/transfer-blobs.ts';
