export { fromBase64, toBase64 } from './codec/base64.ts';
export { ByteCollector } from './codec/byte-collector.ts';
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
export { DecodeError, type DecodeErrorCode } from './codec/decoder.ts';
export { type ErrorPlace, isMillraceError, MillraceError } from './errors.ts';
export { joinStates, stateAfterRun } from './fold/cut-state.ts';
export { type Folded, Folder, fold, foldBatch, type Gap, type OnStep } from './fold/fold.ts';
export {
  type AskedApproval,
  type AttemptUsage,
  type AwaitedOutput,
  emptyState,
  type FoldState,
  findItem,
  findItemOfPart,
  findOpen,
  type ItemState,
  type PartSlot,
  type Superseded,
  usedItemIds,
} from './fold/fold-state.ts';
export { merge, mergeBatch } from './fold/merge.ts';
export { type ByteRope, livePart, type OpenPart, toBytes } from './fold/open-part.ts';
export {
  cutSequence,
  entriesSince,
  findLast,
  isCut,
  type Sequence,
  toArray,
} from './fold/sequence.ts';
export { settledItems, settleTurn } from './fold/settle-turn.ts';
export {
  type AgentUsage,
  liveTranscript,
  toItem,
  totalUsage,
  transcript,
  usageByAgent,
} from './fold/transcript.ts';
export { validate } from './fold/validate.ts';
export { checkForm, type FormCheck } from './forms/check-form.ts';
export {
  type FormField,
  type FormOption,
  type FormQuestion,
  type FormResult,
  formDismissed,
  formLimits,
  formWithdrawn,
  type ProgramRequest,
  readForm,
  type TextFormat,
} from './forms/form.ts';
export { foldersQuestion, type ModelQuestion, modelQuestion } from './forms/program-question.ts';
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
  type NewBytes,
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
export {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
} from './json/json-value.ts';
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
export { hasEscapedKey } from './json/scan-json.ts';
export { type ContentLimits, defaultContentLimits } from './limits.ts';
export {
  type AlternativeAnswer,
  alternativeName,
  alternativesOf,
  type Grounding,
  type GroundingSupport,
  groundingOf,
  logprobsOf,
  type TokenLogprob,
} from './protocol/answer-metadata.ts';
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
  AskingAgent,
  BranchFact,
  ChildAttempt,
  Fact,
  FileVersion,
  GuardrailFact,
  GuardrailPlace,
  GuardrailVerdict,
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
export {
  type CustomPart,
  type FilePart,
  type MediaPart,
  type Medium,
  type Metadata,
  mediumOf,
  type Part,
  type PartKind,
  type ProviderFile,
  type ProviderState,
  type ReasoningForm,
  type ReasoningPart,
  type Source,
  type StructuredPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from './protocol/part.ts';
export { ProtocolError, type Refusal } from './protocol/protocol-error.ts';
export {
  type Batch,
  type DeltaRecord,
  type DraftRecord,
  type FactRecord,
  type LogRecord,
  recordVersion,
} from './protocol/record.ts';
export type {
  ContainerInfo,
  ModelName,
  OtherRequest,
  ResponseDetails,
  ResponseTimings,
  SafetyRating,
} from './protocol/response-details.ts';
export type { ErrorInfo, Stop, StopReason } from './protocol/stop.ts';
export { ownChild, toolCallPart } from './protocol/tool-call.ts';
export {
  addDecimals,
  addUsage,
  type Cost,
  cachedPercent,
  compareDecimals,
  isDecimal,
  noUsage,
  type Usage,
} from './protocol/usage.ts';
export { disguisesInCall } from './text/call-disguises.ts';
export { type Disguise, disguisesIn, type FindDisguises } from './text/disguises.ts';
export { editDistance, type NearestNamesOptions, nearestNames } from './text/nearest-names.ts';
export { textHash } from './text/text-hash.ts';
export {
  assertOptionNames,
  findUnknownOption,
  type OptionNames,
  type UnknownOption,
} from './text/unknown-option.ts';
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
export { agentEvents, type View } from './views/agent-events.ts';
export { decodeEvent, encodeEvent } from './views/event-codec.ts';
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
