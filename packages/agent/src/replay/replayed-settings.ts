import { sessionId, type ToolCallId } from '@millrace/core';
import type { BlobStore, Log } from '@millrace/log';
import {
  createProvider,
  type Provider,
  ProviderError,
  type ProviderErrorKind,
  type ResponseEnd,
  type StreamStep,
} from '@millrace/providers';
import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Observer } from '../contract/observer.ts';
import type { ApprovalDecision, ResolvedStep, Settings } from '../contract/settings.ts';
import type { CheckedToolCall, HandOff, Tool, ToolContext, ToolReturn } from '../contract/tool.ts';
import { registerSettings, settingsOf } from '../run/agent-registry.ts';
import { type RequestCapture, withCapture } from './capture-requests.ts';
import type { Playback } from './playback.ts';
import type { RecordedAttempt, RecordedEnd } from './recorded-attempts.ts';
import { callKey, type RecordedToolFact } from './recorded-calls.ts';
import type { RecordedDrive } from './recorded-drives.ts';
import { recordedIds } from './recorded-ids.ts';
import { recordedTools } from './recorded-tools.ts';
import { replayedGuardrail } from './recorded-verdicts.ts';
import type { Recording } from './recording.ts';
import type { ReplayedLog } from './replayed-log.ts';

/**
 * Returns the settings of an agent for a replay. Everything outside the loop comes from the recording:
 * providers, tools, policy, log, clock and ids.
 */
export function replayedSettings(
  settings: Settings,
  replay: ReplayState,
  observers: readonly Observer[],
): Settings {
  const replayAgent = agentReplayer(replay, observers);
  const { drive, playback, capture } = replay;
  const isPrepared = settings.prepareStep !== undefined || settings.stepTools.length > 0;
  const { session, records } = replay.recording;
  const known = new Set(settings.tools.keys());
  const execute: Tool['execute'] = (_input, context) => replayExecution(replay, context);
  const findTools = () => recordedTools(session, records, known, execute);
  const found =
    settings.stepTools.length > 0 && capture === undefined
      ? replay.toolsOf(settings, findTools)
      : [];
  const all = [...settings.tools.values(), ...found].map((tool) => [tool.name, tool] as const);
  const tools = all.map(([name, tool]) => [name, replayedTool(tool, replay, replayAgent)] as const);
  const played: Settings = {
    ...settings,
    // One process wrote all records of a drive, so an agent has the same version in the whole drive.
    version: providersAskedBy(replay, settings.name)[0]?.version,
    providers: isPrepared ? [anyProvider(replay)] : replayedProviders(replay, settings.name),
    // The recording has the providers and tools of each step, so the replay does not call `prepareStep`.
    prepareStep: isPrepared
      ? async ({ turn }) => recordedStep(replay, settings.name, turn)
      : undefined,
    tools: new Map(tools),
    stepTools: [],
    guardrails: settings.guardrails.map((one) => replayedGuardrail(one, replay)),
    instructions: undefined,
    contextFilters: [],
    log: replayedLogOf(replay, settings.log.blobs),
    observers,
    approve: (call) => recordedDecision(replay, call),
    beforeRejection: async ({ toolCallId }) => {
      const key = callKey(turnOf(replay), toolCallId);
      if (replay.recording.stoppedCalls.has(key)) await playback.reached(Number.POSITIVE_INFINITY);
    },
    whileAsking: drive.whileAsking,
    onInterrupted: drive.onInterrupted,
    owner: drive.owner,
    // The recording determines when calls start and how long retries wait, so the replay sets no limits here.
    limits: { ...settings.limits, maxParallelTools: Number.POSITIVE_INFINITY },
    retry: { ...settings.retry, ...recordedDelays },
    clock: playback,
    ids: recordedIds({ ...replay.recording, drive, turn: () => turnOf(replay) }),
    random: () => 0,
    fetchesWhileWriting: true,
  };
  if (capture === undefined) return played;
  return withCapture(played, {
    ...{ settings, playback, capture },
    replayTool: (tool) => replayedTool(tool, replay, replayAgent),
    providersOf: (turn) => replayedProviders(replay, settings.name, turn),
  });
}

const recordedDelays = {
  baseDelayMs: 0,
  maxDelayMs: Number.POSITIVE_INFINITY,
  toolGraceMs: Number.POSITIVE_INFINITY,
};

/** Returns a function that replaces the agents of hand-offs with replayed agents. */
function agentReplayer(
  replay: ReplayState,
  observers: readonly Observer[],
): (agent: Agent) => Agent {
  const known = new Map<Agent, Agent>();
  return function replayAgent(agent) {
    const played = known.get(agent) ?? { ...agent };
    if (!known.has(agent)) {
      known.set(agent, played);
      registerSettings(played, replayedSettings(settingsOf(agent), replay, observers));
    }
    return played;
  };
}

async function recordedDecision(
  replay: ReplayState,
  { call }: CheckedToolCall,
): Promise<ApprovalDecision> {
  const all = replay.recording.decisions.get(callKey(turnOf(replay), call.toolCallId)) ?? [];
  // The next record about the call shows the decision of the policy.
  const known = all.find(({ at }) => at >= replay.playback.count) ?? all.at(-1);
  await replay.playback.reached(known?.after ?? Number.POSITIVE_INFINITY);
  return known?.decision ?? 'deny';
}

/** Returns a log that supports only the methods that a run uses. */
function replayedLogOf({ log }: ReplayState, blobs: BlobStore): Log {
  const refuse = () => Promise.reject(notSupported());
  const rest = { submit: refuse, produce: refuse, list: refuse, settle: refuse };
  const more = {
    findCommand: refuse,
    fork: refuse,
    restore: refuse,
    redact: refuse,
    delete: refuse,
  };
  return {
    ...{ blobs: replayedBlobs(blobs), ...rest, ...more, close: async () => {} },
    // The replay keeps the state from before the drive in memory, so the replayed driver need not read the
    // session from a log.
    info: async () => undefined,
    open: (session, options) => log.open(sessionId(session), options),
    read: (session, options) => log.read(sessionId(session), options),
    follow: (session, options) => log.follow(sessionId(session), options),
  };
}

/**
 * Returns a blob store that can only be read. Questions of guardrails contain the text of attached files. A
 * replay sends no requests, so a blob that is missing counts as empty.
 */
function replayedBlobs(blobs: BlobStore): BlobStore {
  return {
    put: () => Promise.reject(notSupported()),
    get: async (hash) => (await blobs.get(hash)) ?? new Uint8Array(),
    slice: async () => undefined,
  };
}

function notSupported(): AgentError {
  return new AgentError('bad_option', 'Cannot do this in a replay: the recording is read-only');
}

/**
 * Returns the providers that an agent used in a drive, in order. These providers stream the recorded output.
 */
function replayedProviders(replay: ReplayState, agent: string, turn?: number): readonly Provider[] {
  return providersAskedBy(replay, agent, turn).map(({ provider, model }) =>
    createProvider(provider, model, streamOf(replay)),
  );
}

function streamOf(replay: ReplayState): Provider['stream'] {
  const { attempts } = replay.recording;
  return (_request, { item }) => replayStream(replay, attempts.get(`${item.turn}.${item.attempt}`));
}

/** Returns what `prepareStep` chose for a turn, according to the recording. */
function recordedStep(replay: ReplayState, agent: string, turn: number): ResolvedStep {
  const { recording, drive } = replay;
  const started = recording.requests
    .get(drive.producer)
    ?.find(({ fact, turn: of }) => of === turn && fact.type === 'response_started');
  const tools = started?.fact.type === 'response_started' ? started.fact.tools : undefined;
  return { providers: replayedProviders(replay, agent, turn), tools };
}

/**
 * Returns the provider for summaries of an agent with `prepareStep`. It has the id and model of the recorded
 * turn, because the recording does not list the agent's own providers.
 */
function anyProvider(replay: ReplayState): Provider {
  const recorded = () => replay.recording.attempts.get(`${turnOf(replay)}.1`);
  return Object.defineProperties(createProvider('', '', streamOf(replay)), {
    id: { get: () => recorded()?.provider ?? 'nobody' },
    model: { get: () => recorded()?.model ?? 'none' },
  });
}

interface AskedProvider {
  readonly provider: string;
  readonly model: string;
  /** The version of the agent. */
  readonly version?: string | undefined;
}

/**
 * Returns the providers that an agent used, in order. If a retry has no delay, the agent switched to the next
 * provider.
 */
function providersAskedBy(
  { recording, drive }: ReplayState,
  agent: string,
  onlyTurn?: number,
): readonly AskedProvider[] {
  const asked: AskedProvider[] = [];
  let [index, isNext] = [0, false];
  for (const { fact, turn, agent: by } of recording.requests.get(drive.producer) ?? []) {
    if (by !== agent || (onlyTurn !== undefined && turn !== onlyTurn)) continue;
    if (fact.type === 'retry_scheduled') {
      isNext = isFallback(fact);
      continue;
    }
    if (isNext) index++;
    isNext = false;
    const { provider, model, version } = fact;
    asked[index] ??= { provider, model, version };
  }
  // If the drive ended before the agent used the next provider, a placeholder represents that provider.
  const placeholder = { provider: 'nobody', model: 'none' };
  return asked.length === 0 || isNext ? [...asked, placeholder] : asked;
}

function isFallback({ delayMs }: { readonly delayMs: number | undefined }): boolean {
  return delayMs === 0;
}

async function* replayStream(
  { playback }: ReplayState,
  attempt: RecordedAttempt | undefined,
): AsyncGenerator<StreamStep> {
  for (const delta of attempt?.deltas ?? []) yield { deltas: [delta] };
  // If the driver died, the recorded stream never ends.
  if (attempt?.end === undefined) return void (await new Promise(() => {}));
  await playback.reached(attempt.end.after);
  yield { deltas: [], end: endOf(attempt, attempt.end) };
}

function endOf(
  { provider }: RecordedAttempt,
  { stop, usage, details: reported, error, delayMs }: RecordedEnd,
): ResponseEnd {
  const end = { stop, usage, ...(reported && { details: reported }) };
  if (error === undefined) return end;
  const retry = delayMs === undefined || isFallback({ delayMs }) ? 'no' : 'yes';
  const kind = error.code as ProviderErrorKind;
  const details = { provider, retry, retryAfterMs: delayMs } as const;
  return { ...end, error: new ProviderError(kind, error.message, details) };
}

/** Returns a tool with the same definition. It replays the recorded progress and result. */
function replayedTool(tool: Tool, replay: ReplayState, replayAgent: (agent: Agent) => Agent): Tool {
  const { handsOff } = tool;
  const to = handsOff && ({ ...handsOff, to: () => replayAgent(handsOff.to()) } satisfies HandOff);
  return {
    ...tool,
    // The functions are called as methods of the tool, because they may use `this`.
    validate: (input) => tool.validate(input),
    summarize: (input) => tool.summarize(input),
    handsOff: to,
    client: tool.client && {
      ...tool.client,
      recorded: (id) => replay.recording.executions.get(id)?.result,
    },
    timeoutMs: undefined,
    retries: Number.POSITIVE_INFINITY,
    maxOutputLength: Number.POSITIVE_INFINITY,
    execute: (_input, context) => replayExecution(replay, context),
  };
}

async function replayExecution(
  { recording, playback }: ReplayState,
  context: ToolContext,
): Promise<ToolReturn> {
  const { executionId, update, signal, asParent } = context;
  const recorded = recording.executions.get(executionId);
  const { updates = [], toolFacts = [], after, result, parkedWith } = recorded ?? {};
  // If the caller was aborted while the sub-agent was parked, the original run wrote nothing to the caller's
  // log.
  if (signal.aborted) return;
  const inOrder = [...updates, ...toolFacts].toSorted((one, other) => one.after - other.after);
  const forms = new Map<ToolCallId, AbortController>();
  for (const one of inOrder) {
    await playback.reached(one.after);
    if ('text' in one) update(one.text);
    else replayToolFact(one, context, forms).catch(() => {});
  }
  await playback.reached(after ?? Number.POSITIVE_INFINITY);
  if (parkedWith !== undefined) {
    asParent?.end({ reason: 'parked' }, parkedWith.map(ownId));
    return;
  }
  if (result === undefined) throw new Error('It failed, and was tried again');
  const { text, value, isError, attachments, metadata } = result;
  return { output: { text, value, isError, attachments, metadata } };
}

async function replayToolFact(
  { fact }: RecordedToolFact,
  { asParent: parent, recordFileChange, ask }: ToolContext,
  forms: Map<ToolCallId, AbortController>,
): Promise<void> {
  if (fact.type === 'file_changed') {
    const { path, before, after, scope } = fact;
    return recordFileChange?.({ path, before, after, scope });
  }
  if (parent === undefined) {
    // A tool that runs no sub-agent asked the user with a form, or withdrew the form.
    if (fact.type === 'approval_answered') forms.get(fact.toolCallId)?.abort();
    if (fact.type !== 'approval_asked' || !fact.from?.form) return;
    const withdrawal = new AbortController();
    forms.set(fact.toolCallId, withdrawal);
    await ask?.(fact.from.form, withdrawal.signal);
    return;
  }
  switch (fact.type) {
    case 'child_usage_reported':
      return parent.reportUsage(fact.of, fact.usage);
    case 'approval_answered': {
      const { decision, reason, by, input, basis } = fact;
      const answer = { decision, reason, by, input, basis };
      return parent.noteAnswer(ownId(fact.toolCallId), answer);
    }
    case 'approval_asked': {
      const { toolCallId, name, reason, rule, judged, from } = fact;
      if (from === undefined) return;
      const { agents, session, input, form } = from;
      const about = { name, reason, rule, judged, agents, session, input, form };
      await parent.ask({ toolCallId: ownId(toolCallId), ...about });
    }
  }
}

/** Returns the id of a question, without the part that names the sub-agent's session. */
function ownId(question: ToolCallId): ToolCallId {
  return question.slice(question.indexOf('/') + 1) as ToolCallId;
}

/** The objects that all parts of the replay of one drive share. */
export interface ReplayState {
  readonly recording: Recording;
  readonly drive: RecordedDrive;
  readonly playback: Playback;
  readonly log: ReplayedLog;
  /**
   * Returns the recorded tools of an agent. All drives share them, so that the recording is searched only once. A
   * replayed tool has its own function for each drive.
   */
  readonly toolsOf: (settings: Settings, find: () => readonly Tool[]) => readonly Tool[];
  /** Receives the requests. Default: the replay builds incomplete requests and reports none. */
  readonly capture?: RequestCapture | undefined;
}

/** Returns the turn that is being replayed. */
function turnOf({ recording, playback }: Pick<ReplayState, 'recording' | 'playback'>): number {
  for (let at = playback.count - 1; at >= 0; at--) {
    const turn = recording.records[at]?.turn ?? 0;
    if (turn > 0) return turn;
  }
  return 0;
}
