// This file exports what a program needs to store logs in its own database. These are the contract of a
// store, the log on a store, and functions that most stores use. The guide is docs/extend/store.md.

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
