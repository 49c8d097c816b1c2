export type { LiveOptions, LiveOutcome, LiveTools } from './continue-live.ts';
export { type ChangeGroup, changedLines } from './group-changes.ts';
export { type PinOptions, pinSession } from './pin-session.ts';
export {
  findRecordings,
  RecordingError,
  type RecordingFile,
  replaySuite,
  type SuiteCase,
  type SuiteOptions,
} from './replay-suite.ts';
export type { ChangeCause, RecordingChange } from './request-changes.ts';
export type { RecordingOptions } from './run-recording.ts';
export {
  type AcceptedDivergence,
  decodeRecording,
  encodeRecording,
  recordingSuffix,
  type SentRequest,
  type SessionRecording,
  type WireRequest,
} from './session-recording.ts';
export {
  type FindAgent,
  type NamedRecording,
  type RecordingResult,
  type TestMode,
  type TestOptions,
  type TestReport,
  testRecordings,
} from './test-recordings.ts';
