import type { FormQuestion, ProgramRequest } from '../forms/form.ts';
import type { ExecutionId, ItemId, RunId, SessionId } from '../ids.ts';
import type {
  AskingAgent,
  BranchFact,
  ChildAttempt,
  Fact,
  FileVersion,
  SettledItem,
  SettledPart,
  Snapshot,
  UnknownFact,
} from '../protocol/fact.ts';
import type {
  ContainerInfo,
  ModelName,
  OtherRequest,
  ResponseDetails,
  ResponseTimings,
  SafetyRating,
} from '../protocol/response-details.ts';
import type { ErrorInfo } from '../protocol/stop.ts';
import { type Cost, isDecimal, type Usage } from '../protocol/usage.ts';
import { isTracestate, parseTraceparent, type TraceContext } from '../trace/trace-context.ts';
import { author, id, itemId, itemKind, part, partId, stop, toolCallId } from './content.ts';
import {
  boolean,
  count,
  DecodeFailure,
  type Decoder,
  json,
  jsonObject,
  list,
  mapOf,
  number,
  object,
  offset,
  oneOf,
  optional,
  string,
  stringThat,
  variant,
  yes,
} from './decoder.ts';

const cost: Decoder<Cost> = object<Cost>({
  amount: stringThat(isDecimal, 'an exact decimal such as 0.25'),
  currency: string,
});

const costs: Decoder<readonly Cost[]> = (value, limits) => {
  const decoded = list(cost)(value, limits);
  const currencies = new Set(decoded.map(({ currency }) => currency));
  if (currencies.size === decoded.length) return decoded;
  throw new DecodeFailure('expected one cost a currency');
};

const usage: Decoder<Usage> = object<Usage>({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  cacheWriteLong: optional(count),
  reasoning: count,
  estimated: boolean,
  costs,
  billed: optional(mapOf(count)),
});

const modelName = { provider: string, model: string };

const safetyRating: Decoder<SafetyRating> = object<SafetyRating>({
  about: oneOf('input', 'output'),
  category: string,
  level: optional(string),
  score: optional(number),
  flagged: optional(boolean),
  blocked: optional(boolean),
});

const details: Decoder<ResponseDetails> = object<ResponseDetails>({
  model: optional(string),
  responseId: optional(string),
  upstream: optional(string),
  serviceTier: optional(string),
  fingerprint: optional(string),
  stopSequence: optional(string),
  nativeStop: optional(string),
  container: optional(object<ContainerInfo>({ id: string, expiresAt: optional(string) })),
  safety: optional(list(safetyRating)),
  timings: optional(
    object<ResponseTimings>({
      queueMs: optional(number),
      inputMs: optional(number),
      outputMs: optional(number),
      totalMs: optional(number),
    }),
  ),
  answeredBy: optional(object<ModelName>(modelName)),
  otherRequests: optional(list(object<OtherRequest>({ ...modelName, outcome: string, usage }))),
  fromCache: optional(yes),
  other: optional(jsonObject),
});

const errorInfo: Decoder<ErrorInfo> = object<ErrorInfo>({ code: string, message: string });

export const covers: Decoder<Snapshot['covers']> = (value, limits) => {
  const [first, last, ...more] = list(offset)(value, limits);
  if (first === undefined || last === undefined || more.length > 0 || first > last) {
    throw new DecodeFailure('expected two offsets, the first not above the last');
  }
  return [first, last];
};

export const settledItem: Decoder<SettledItem> = object<SettledItem>({
  itemId,
  parts: list(object<SettledPart>({ partId, part })),
});

const executionId: Decoder<ExecutionId> = id();
const runId: Decoder<RunId> = id();

const isTraceparent = (text: string) => parseTraceparent(text) !== undefined;
const trace: Decoder<TraceContext> = object<TraceContext>({
  traceparent: stringThat(isTraceparent, 'a traceparent of W3C Trace Context'),
  tracestate: optional(stringThat(isTracestate, 'a tracestate of W3C Trace Context')),
});

const called = { toolCallId, name: string };
const session = id<SessionId>();

const programRequest: Decoder<ProgramRequest> = object<ProgramRequest>({
  type: oneOf('model', 'folders'),
  maxTokens: optional(count),
  system: optional(string),
});

const form: Decoder<FormQuestion> = object<FormQuestion>({
  message: string,
  schema: jsonObject,
  key: optional(string),
  request: optional(programRequest),
});

const askingAgent: Decoder<AskingAgent> = object<AskingAgent>({
  toolCallId,
  agents: list(string),
  session,
  input: json,
  itemId: optional(itemId),
  form: optional(form),
});

const childAttempt: Decoder<ChildAttempt> = object<ChildAttempt>({
  session,
  agent: string,
  turn: count,
  attempt: count,
  provider: optional(string),
  model: optional(string),
  version: optional(string),
});

const isHash = (text: string) => /^[0-9a-f]{64}$/.test(text);
const fileVersion: Decoder<FileVersion> = object<FileVersion>({
  hash: stringThat(isHash, 'a SHA-256 as hexadecimal digits'),
  length: count,
  mode: count,
  isStored: boolean,
});

type ClippedItem = { readonly itemId: ItemId; readonly maxLength: number };

const until: Decoder<number | 'session'> = (value, limits) =>
  value === 'session' ? 'session' : count(value, limits);

export const unknownFact: Decoder<UnknownFact> = (value, limits) => ({
  type: 'unknown',
  raw: jsonObject(value, limits),
});

export const fact: Decoder<Fact> = variant<Fact, 'type'>(
  'type',
  {
    item_started: {
      itemId,
      kind: itemKind,
      author: optional(author),
      metadata: optional(jsonObject),
    },
    item_finished: { itemId, stop: optional(stop) },
    item_redacted: { itemId, reason: optional(string) },
    response_started: {
      ...{ itemId, provider: string, model: string },
      ...{ tools: optional(list(string)), version: optional(string) },
    },
    response_finished: { itemId, stop, usage, details: optional(details) },
    usage_reported: { usage },
    attempt_superseded: { reason: string },
    retry_scheduled: { error: errorInfo, delayMs: count },
    run_started: { runId, trace: optional(trace) },
    run_finished: { runId, stop },
    turn_started: {},
    turn_finished: { itemId: optional(itemId), stop },
    aborted: { reason: optional(string) },
    error_reported: { error: errorInfo },
    command_queued: { key: string, command: jsonObject },
    command_consumed: { key: string, error: optional(errorInfo) },
    compacted: {
      itemIds: list(itemId),
      summary: optional(string),
      clipped: optional(list(object<ClippedItem>({ itemId, maxLength: count }))),
    },
    handed_off: { to: string, reason: optional(string) },
    branched: {
      from: object<BranchFact['from']>({ session, at: count }),
      changed: list(string),
      results: optional(list(toolCallId)),
      rerun: optional(list(toolCallId)),
      model: optional(string),
      instructions: optional(string),
    },
    tool_call_rejected: {
      ...called,
      code: oneOf('invalid', 'unknown', 'denied', 'aborted', 'cut'),
      message: string,
    },
    approval_asked: {
      ...called,
      reason: optional(string),
      rule: optional(string),
      judged: optional(string),
      from: optional(askingAgent),
    },
    approval_answered: {
      ...called,
      decision: oneOf('allow', 'deny'),
      reason: optional(string),
      by: optional(string),
      input: optional(json),
      basis: optional(string),
      until: optional(until),
      answeredIn: optional(session),
    },
    tool_output_asked: { ...called, input: optional(json) },
    tool_execution_started: {
      ...called,
      executionId,
      summary: string,
      child: optional(session),
      parent: optional(session),
    },
    tool_execution_finished: {
      ...called,
      executionId,
      isError: boolean,
      outcome: oneOf('completed', 'discarded', 'lost', 'parked'),
    },
    file_changed: {
      ...called,
      executionId,
      path: string,
      before: optional(fileVersion),
      after: optional(fileVersion),
      scope: optional(oneOf('pending', 'recorded')),
    },
    child_usage_reported: { ...called, of: childAttempt, usage },
    guardrail_applied: {
      name: string,
      on: oneOf('input', 'output', 'tool_call'),
      verdict: oneOf('pass', 'stop', 'change', 'ask', 'error'),
      reason: optional(string),
      itemId: optional(itemId),
      toolCallId: optional(toolCallId),
      replacedBy: optional(itemId),
      input: optional(json),
    },
    snapshot: { covers, items: list(settledItem) },
    unknown: unknownFact,
  },
  unknownFact,
);
