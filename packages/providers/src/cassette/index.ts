export {
  type BodyEnd,
  type BodyEnding,
  type Cassette,
  CassetteError,
  type CassetteErrorCode,
  type CassetteLimits,
  type ClippedContent,
  type RecordedChunk,
  type RecordedError,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from './cassette.ts';
export { decodeCassette } from './format/decode-cassette.ts';
export { encodeCassette } from './format/encode-cassette.ts';
export {
  type CassetteRecorder,
  type RecordOptions,
  recordCassette,
} from './record/record-cassette.ts';
export { findSecrets, type SecretFinding } from './redact/find-secrets.ts';
export type { ReplaySpeed } from './replay/replay-body.ts';
export { type ReplayFetch, type ReplayFetchOptions, replayFetch } from './replay/replay-fetch.ts';
