export type {
  BodyEnd,
  Cassette,
  Clipped,
  Ending,
  RecordedChunk,
  RecordedError,
  RecordedExchange,
  RecordedRequest,
  RecordedResponse,
} from './cassette.ts';
export { CassetteError, type CassetteErrorCode } from './cassette-error.ts';
export type { CassetteLimits } from './cassette-limits.ts';
export { decodeCassette } from './format/decode-cassette.ts';
export { encodeCassette } from './format/encode-cassette.ts';
export {
  type CassetteRecorder,
  type RecordOptions,
  recordCassette,
} from './record/record-cassette.ts';
export { findSecrets, type SecretFinding } from './redact/find-secrets.ts';
export type { ReplaySpeed } from './replay/pace.ts';
export { type ReplayOptions, replayFetch } from './replay/replay-fetch.ts';
