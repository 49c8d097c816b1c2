export { fromBase64, toBase64 } from './codec/base64.ts';
export {
  decodeBatch,
  decodeDraft,
  decodeRecord,
  decodeTranscript,
  encodeBatch,
  encodeDraft,
  encodeRecord,
  encodeTranscript,
} from './codec/codec.ts';
export { DecodeError, type DecodeErrorCode } from './codec/decode-error.ts';
export { type ErrorPlace, isMillraceError, MillraceError } from './errors.ts';
export { livePart } from './fold/build-part.ts';
export { type ByteRope, toBytes } from './fold/byte-rope.ts';
export { type Folded, fold, foldBatch, type Gap, type OnStep } from './fold/fold.ts';
export {
  type AskedApproval,
  type AttemptUsage,
  emptyState,
  type FoldState,
  type ItemState,
  type OpenPart,
  type PartSlot,
  type Superseded,
} from './fold/fold-state.ts';
export { Folder } from './fold/folder.ts';
export { findItem, findItemOfPart, findOpen } from './fold/lookup.ts';
export { merge, mergeBatch } from './fold/merge.ts';
export { type Sequence, toArray } from './fold/sequence.ts';
export { settledItems, settleTurn } from './fold/settle-turn.ts';
export { liveTranscript, toItem, totalUsage, transcript } from './fold/transcript.ts';
export { validate } from './fold/validate.ts';
export {
  type Attempt,
  attemptOf,
  countingIds,
  type ExecutionId,
  executionId,
  type Ids,
  type ItemId,
  isId,
  isPartId,
  itemId,
  type PartId,
  partId,
  type RunId,
  randomIds,
  runId,
  type SessionId,
  sessionId,
  type ToolCallId,
  toolCallId,
} from './ids.ts';
export { checkJson, type JsonProblem } from './json/check-json.ts';
export { hasEscapedKey } from './json/escaped-keys.ts';
export type { JsonArray, JsonObject, JsonValue } from './json/json-value.ts';
export { parseJson } from './json/parse-json.ts';
export {
  type JsonChange,
  type JsonFailure,
  type JsonFailureCode,
  type JsonLimits,
  type JsonPath,
  type JsonResult,
  PartialJson,
} from './json/partial-json.ts';
export { defaultLimits, type Limits } from './limits.ts';
export { addDecimals, compareDecimals, isDecimal } from './protocol/decimal.ts';
export type {
  AppendBytes,
  AppendText,
  BeginPart,
  CommitBuilt,
  CommitWhole,
  Delta,
  PartEnd,
  PartStart,
  ReplaceStructured,
  RetractPart,
  RetractReason,
  SetMetadata,
  UnknownDelta,
} from './protocol/delta.ts';
export type {
  Fact,
  ItemFact,
  RejectionCode,
  ResponseFact,
  RunFact,
  SettledItem,
  SettledPart,
  Snapshot,
  ToolFact,
  UnknownFact,
} from './protocol/fact.ts';
export { type Author, type Item, type ItemKind, transcriptVersion } from './protocol/item.ts';
export type { Metadata, ProviderState } from './protocol/metadata.ts';
export type {
  CustomPart,
  FilePart,
  MediaPart,
  Medium,
  Part,
  PartKind,
  ReasoningForm,
  ReasoningPart,
  Source,
  StructuredPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from './protocol/part.ts';
export { mediumOf } from './protocol/part.ts';
export { ProtocolError, type Refusal } from './protocol/protocol-error.ts';
export {
  type Batch,
  type DeltaRecord,
  type DraftRecord,
  type FactRecord,
  type LogRecord,
  recordVersion,
} from './protocol/record.ts';
export type { ErrorInfo, Stop, StopReason } from './protocol/stop.ts';
export { toolCallPart } from './protocol/tool-call.ts';
export { addUsage, type Cost, noUsage, type Usage } from './protocol/usage.ts';
export { spanIdOf, traceIdOf } from './trace/span-ids.ts';
export {
  formatTraceparent,
  isSampled,
  parseTraceparent,
  type TraceContext,
  type TraceParent,
  traceContext,
  underSpan,
} from './trace/trace-context.ts';
export type {
  AgentEvent,
  ContentEvent,
  EventHead,
  FactEvent,
  SettledEvent,
} from './views/agent-event.ts';
export { agentEvents } from './views/agent-events.ts';
export { decodeEvent, encodeEvent } from './views/event-codec.ts';
export type { View } from './views/view.ts';
export { DeltaWriter, type DeltaWriterOptions } from './write/delta-writer.ts';
export type {
  BytesWriter,
  EndOptions,
  OpenPartWriter,
  PartWriter,
  ReasoningEndOptions,
  ReasoningWriter,
  TextWriter,
  ValueWriter,
} from './write/part-writer.ts';
