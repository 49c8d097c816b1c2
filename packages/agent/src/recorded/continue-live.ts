import {
  emptyState,
  foldBatch,
  type Item,
  type LogRecord,
  sessionId,
  type ToolResultPart,
  transcript,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { Agent } from '../contract/agent.ts';
import type { ApprovalDecision, Settings } from '../contract/settings.ts';
import type { Tool, ToolContext, ToolReturn } from '../contract/tool.ts';
import { diffSessions } from '../diff/diff-sessions.ts';
import type { SessionDiff } from '../diff/session-diff.ts';
import { adaptAgents, settingsOf } from '../run/agent-registry.ts';
import { LiveRun } from '../run/live-run.ts';
import type { RecordingChange } from './request-changes.ts';
import type { RecordingRun } from './run-recording.ts';
import type { SessionRecording } from './session-recording.ts';

/**
 * The behaviour of the tools in a live test. `recorded`: a tool returns the recorded result of the same call, and an
 * error for other calls. `real`: the tool runs. A function returns the tool that runs instead, for example in
 * a sandbox.
 */
export type LiveTools = 'recorded' | 'real' | ((tool: Tool) => Tool | 'recorded' | 'real');

/** Options of a live test. */
export interface LiveOptions {
  /** The behaviour of the tools. Default: `recorded`. */
  readonly tools?: LiveTools | undefined;
  /** Maximum number of turns after the first difference. Default: 20. */
  readonly maxTurns?: number | undefined;
}

/** The work of an agent after the first difference. */
export interface LiveOutcome {
  /** The turn from which on the model answered. */
  readonly fromTurn: number;
  /** The reason why the last run ended, for example `stop` or `parked`. */
  readonly stop: string;
  /** The error with which the last run ended. Undefined if it ended without an error. */
  readonly error?: string | undefined;
  /** The last answer. */
  readonly text: string;
  /** The number of calls that returned a recorded result. */
  readonly recordedCalls: number;
  /** The names of the tools that ran. */
  readonly ranTools: readonly string[];
  /** The number of calls for which the recording has no result. */
  readonly unknownCalls: number;
  /** The comparison of the recording (`a`) with the new run (`b`). */
  readonly diff: SessionDiff;
  /** The records of the new run, with the recorded ones before it. */
  readonly records: readonly LogRecord[];
}

interface ContinueOptions extends LiveOptions {
  readonly first: RecordingChange;
  readonly run: RecordingRun;
  readonly context?: unknown;
  readonly signal?: AbortSignal | undefined;
}

const defaultMaxTurns = 20;

/**
 * Continues a recording with the agent's own model, from the turn of the first difference on. The recorded
 * inputs of the user follow, each after the end of the run before it.
 */
export async function continueLive(
  agent: Agent,
  { session, records }: SessionRecording,
  options: ContinueOptions,
): Promise<LiveOutcome> {
  const { first, run, context, signal, maxTurns = defaultMaxTurns } = options;
  const cut = cutBefore(records, first, run);
  const log = memoryLog();
  await log.restore(session, records.slice(0, cut));
  const calls = new LiveCalls(records, options.tools ?? 'recorded');
  const settings = liveSettings(settingsOf(agent), { log, calls, maxTurns });
  const inputs = inputsAfter(records, cut);
  const hasWork = records.slice(0, cut).some(({ fact }) => fact?.type === 'run_started');
  // Without a started run, the first input starts the session.
  let input: readonly Item[] | undefined = hasWork ? undefined : nextInput(inputs);
  for (;;) {
    const live = new LiveRun(settings, { session, input, signal, context });
    const { stop, text, error } = await live.result;
    const next = stop.reason === 'stop' ? nextInput(inputs) : undefined;
    if (next === undefined)
      return outcome({ stop: stop.reason, text, ...(error && { error: error.message }) });
    input = next;
  }

  async function outcome(end: Pick<LiveOutcome, 'stop' | 'text' | 'error'>): Promise<LiveOutcome> {
    const before = memoryLog();
    await before.restore(session, records);
    const diff = await diffSessions({ log: before, session }, { log, session });
    const all = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    const { recorded: recordedCalls, unknown: unknownCalls, ran } = calls;
    const counts = { recordedCalls, unknownCalls, ranTools: [...ran] };
    return { fromTurn: first.turn, ...end, ...counts, diff, records: all.records };
  }
}

/** Returns the number of records that stay. The turn of the first difference starts again. */
function cutBefore(
  records: readonly LogRecord[],
  { turn, cause }: RecordingChange,
  { divergence }: RecordingRun,
): number {
  const start = records.findIndex(
    (record) => record.turn === turn && record.fact?.type === 'turn_started',
  );
  if (turn > 0 && start !== -1) return start;
  const at = records.findIndex(({ offset }) => offset === divergence?.offset);
  return cause === 'loop' && at !== -1 ? at : 0;
}

/** Returns the inputs of users that the recording has after a record. */
function inputsAfter(records: readonly LogRecord[], cut: number): Item[] {
  const later = new Set(
    records
      .slice(cut)
      .flatMap(({ fact }) =>
        fact?.type === 'item_started' && fact.kind === 'user' ? [fact.itemId] : [],
      ),
  );
  return itemsOf(records).filter(({ id }) => later.has(id));
}

function nextInput(inputs: Item[]): readonly Item[] | undefined {
  const next = inputs.shift();
  return next && [next];
}

function itemsOf(records: readonly LogRecord[]): readonly Item[] {
  const through = records.at(-1)?.offset ?? 0;
  return transcript(
    foldBatch(emptyState(sessionId('recording')), { after: 0, through, records }).state,
  );
}

interface LiveParts {
  readonly log: Log;
  readonly calls: LiveCalls;
  readonly maxTurns: number;
}

function liveSettings(root: Settings, { log, calls, maxTurns }: LiveParts): Settings {
  return adaptAgents(root, (settings) => ({
    ...settings,
    ...{ log, observers: [], whileAsking: 'park' },
    tools: new Map([...settings.tools].map(([name, tool]) => [name, calls.replace(tool)])),
    stepTools: settings.stepTools.map(
      (toolsOf) => async (step) => (await toolsOf(step)).map((tool) => calls.replace(tool)),
    ),
    limits: { ...settings.limits, maxTurns: Math.min(settings.limits.maxTurns, maxTurns) },
    approve: async (call, step) => calls.decide(call, await settings.approve(call, step)),
  }));
}

/** The calls of a live test: their results and the recorded answers of the user. */
class LiveCalls {
  recorded = 0;
  unknown = 0;
  readonly ran = new Set<string>();
  readonly #tools: LiveTools;
  readonly #results = new Map<string, ToolResultPart[]>();
  readonly #answers = new Map<string, 'allow' | 'deny'>();

  constructor(records: readonly LogRecord[], tools: LiveTools) {
    this.#tools = tools;
    const keys = new Map<string, string>();
    for (const part of itemsOf(records).flatMap(({ parts }) => parts)) {
      if (part.kind === 'tool_call') keys.set(part.toolCallId, keyOf(part.name, part.input));
      const key = part.kind === 'tool_result' ? keys.get(part.toolCallId) : undefined;
      if (part.kind !== 'tool_result' || key === undefined) continue;
      this.#results.set(key, [...(this.#results.get(key) ?? []), part]);
    }
    for (const { fact } of records) {
      const key = fact?.type === 'approval_answered' ? keys.get(fact.toolCallId) : undefined;
      if (fact?.type === 'approval_answered' && key !== undefined)
        this.#answers.set(key, fact.decision);
    }
  }

  /** Returns the tool that runs instead of a tool of the agent. */
  replace(tool: Tool): Tool {
    const chosen = typeof this.#tools === 'function' ? this.#tools(tool) : this.#tools;
    // The code of a hand-off changes nothing, and the loop needs it.
    if (chosen === 'recorded' && tool.handsOff === undefined)
      return {
        ...{ ...tool, ...bound(tool) },
        execute: async (_input, context) => this.#resultOf(tool, inputOf(context)),
      };
    const real = typeof chosen === 'string' ? tool : chosen;
    return {
      ...{ ...real, ...bound(real) },
      execute: (input, context) => {
        this.ran.add(tool.name);
        return real.execute(input, context);
      },
    };
  }

  /** Returns the recorded answer of the user if the policy asks. */
  decide(
    { call }: { readonly call: { readonly name: string; readonly input?: unknown } },
    decision: ApprovalDecision,
  ): ApprovalDecision {
    const asks = (typeof decision === 'string' ? decision : decision.decision) === 'ask';
    return (asks ? this.#answers.get(keyOf(call.name, call.input)) : undefined) ?? decision;
  }

  #resultOf({ name }: Tool, input: unknown): ToolReturn {
    const results = this.#results.get(keyOf(name, input)) ?? [];
    // If the same call occurs more often than in the recording, the last result is repeated.
    const result = results.length > 1 ? results.shift() : results[0];
    if (result === undefined) {
      this.unknown++;
      const text =
        'This test has no result for this call, because the recording does not contain it.';
      return { output: { text, isError: true } };
    }
    this.recorded++;
    const { text, value, isError, metadata } = result;
    // The mark of a text of a client, for input guardrails.
    const { fromClient } = metadata ?? {};
    const mark = fromClient === undefined ? {} : { metadata: { fromClient } };
    return { output: { text, value, isError, ...mark } };
  }
}

/** Returns the input as the model wrote it, because a schema can change it. */
function inputOf({ sessionState, toolCallId }: ToolContext): unknown {
  const state = sessionState?.();
  const parts = state === undefined ? [] : transcript(state).flatMap((item) => item.parts);
  const call = parts.findLast(
    (part) => part.kind === 'tool_call' && part.toolCallId === toolCallId,
  );
  return call?.kind === 'tool_call' ? call.input : undefined;
}

/** The functions of a tool are called as its methods, because they may use `this`. */
function bound(tool: Tool): Pick<Tool, 'validate' | 'summarize'> {
  return {
    validate: (input) => tool.validate(input),
    summarize: (input) => tool.summarize(input),
  };
}

function keyOf(name: string, input: unknown): string {
  return `${name} ${JSON.stringify(input)}`;
}
