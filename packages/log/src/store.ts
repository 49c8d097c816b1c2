// This file is for programs that store logs in their own database. It exports the contract of a store, a
// function that creates a log on a store, and functions that most stores use. The guide is
// docs/extend/store.md.

export { type StoreLogSettings, storeLog } from './engine/local-log.ts';
export { referencedBlobs } from './storage/blob-references.ts';
export { counterJump, randomIncarnation } from './storage/incarnation.ts';
export { approximateBytes } from './storage/record-list.ts';
export type {
  NewSessionNumbers,
  RecordStore,
  SessionRowFilter,
  StoreReader,
  StoreTransaction,
} from './storage/record-store.ts';
export type {
  CommandRow,
  LeaseRow,
  LeaseTicks,
  Origin,
  ProcessIdentity,
  ProducerRow,
  SessionRow,
} from './storage/rows.ts';
export { decodeSessionRow, encodeSessionRow, hasWork } from './storage/session-row.ts';
