import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import { assertKnownOptions } from '../known-options.ts';
import { continueLive, type LiveOptions, type LiveOutcome } from './continue-live.ts';
import { type ChangeGroup, groupChanges } from './group-changes.ts';
import { type RecordingChange, recordingChanges } from './request-changes.ts';
import { type RecordingOptions, type RecordingRun, runRecording } from './run-recording.ts';
import type { SessionRecording } from './session-recording.ts';

/**
 * How recordings are tested.
 *
 * - `exact`: a recording fails at its first difference.
 * - `requests`: all differences of all recordings are collected and grouped.
 * - `live`: as `requests`. From the turn of the first difference on, the agent's own model answers.
 */
export type TestMode = 'exact' | 'requests' | 'live';

/** Options of `testRecordings`. */
export interface TestOptions extends RecordingOptions {
  /** Default: `requests`. */
  readonly mode?: TestMode | undefined;
  /** How `live` continues a recording. Default: the tools return recorded results. */
  readonly live?: LiveOptions | undefined;
  /**
   * Maximum number of recordings that run at the same time. Default: 8, or 1 in the mode `live`, because tools
   * can run there.
   */
  readonly concurrency?: number | undefined;
  /** Called after each recording. Default: none. */
  readonly onResult?: ((result: RecordingResult) => void) | undefined;
  /** Stops before the next recording. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** A recording with a name, such as the name of its file. */
export interface NamedRecording {
  readonly name: string;
  /** The recording, or a function that reads it. An error of the function fails only this recording. */
  readonly recording: SessionRecording | (() => Promise<SessionRecording>);
}

/** The result of one recording. */
export interface RecordingResult {
  readonly name: string;
  /**
   * `same`: nothing changed. `changed`: `changes` has the differences. `failed`: the recording could not be
   * run, and `error` is the reason.
   */
  readonly status: 'same' | 'changed' | 'failed';
  readonly changes: readonly RecordingChange[];
  /** The number of compared requests. It is 0 if the recording contains no requests. */
  readonly comparedRequests: number;
  /** False if the recording contains no requests, so only the loop was compared. */
  readonly isPinned: boolean;
  readonly error?: string | undefined;
  /** What the agent did after the first difference, in the mode `live`. */
  readonly live?: LiveOutcome | undefined;
  /** The recording with everything that the agent does today. Undefined if nothing changed. */
  readonly accepted?: SessionRecording | undefined;
}

/** The results of all recordings. */
export interface TestReport {
  readonly mode: TestMode;
  readonly results: readonly RecordingResult[];
  /** The changes of all recordings, grouped by cause. Large groups come first. */
  readonly groups: readonly ChangeGroup[];
  readonly same: number;
  readonly changed: number;
  readonly failed: number;
}

/** Returns the agent that is tested with a recording. */
export type FindAgent = (recording: SessionRecording) => Agent | Promise<Agent>;

/**
 * Runs recorded sessions through an agent, and compares what the agent does and what it would send. In the
 * modes `exact` and `requests`, no tool runs and no request is sent.
 */
export async function testRecordings(
  agent: Agent | FindAgent,
  recordings: Iterable<NamedRecording> | AsyncIterable<NamedRecording>,
  options: TestOptions = {},
): Promise<TestReport> {
  assertKnownOptions('testRecordings', options, optionNames);
  const { mode = 'requests', onResult, signal } = options;
  if (!modes.includes(mode)) throw unknownMode();
  const { concurrency = mode === 'live' ? 1 : 8 } = options;
  if (!(Number.isSafeInteger(concurrency) && concurrency > 0)) throw badConcurrency();
  const results: RecordingResult[] = [];
  const queue = entriesOf(recordings);
  let started = 0;
  const work = async () => {
    for await (const named of queue) {
      if (signal?.aborted) return;
      const at = started++;
      const result = await testRecording(agent, named, { ...options, mode });
      results[at] = result;
      onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const count = (status: RecordingResult['status']) =>
    results.filter((result) => result.status === status).length;
  return {
    ...{ mode, results, groups: groupChanges(results) },
    ...{ same: count('same'), changed: count('changed'), failed: count('failed') },
  };
}

/** Several workers can read this generator, and each entry goes to one of them. */
async function* entriesOf<T>(entries: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  yield* entries;
}

async function testRecording(
  agent: Agent | FindAgent,
  { name, recording: given }: NamedRecording,
  options: TestOptions,
): Promise<RecordingResult> {
  try {
    const recording = typeof given === 'function' ? await given() : given;
    const isPinned = recording.requests !== undefined;
    const tested = typeof agent === 'function' ? await agent(recording) : agent;
    const run = await runRecording(tested, recording, options);
    const all = recordingChanges(recording, run);
    const changes = options.mode === 'exact' ? all.slice(0, 1) : all;
    const comparedRequests = isPinned ? run.requests.length : 0;
    const result = { name, changes, comparedRequests, isPinned };
    const [first] = changes;
    if (first === undefined) return { ...result, status: 'same' };
    const accepted = acceptedRecording(recording, run);
    const live =
      options.mode === 'live'
        ? await continueLive(tested, recording, { ...options.live, ...options, first, run })
        : undefined;
    return { ...result, status: 'changed', accepted, ...(live && { live }) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      name,
      status: 'failed',
      changes: [],
      comparedRequests: 0,
      isPinned: true,
      error: message,
    };
  }
}

function acceptedRecording(
  { session, agent, records }: SessionRecording,
  { requests, divergence }: RecordingRun,
): SessionRecording {
  const accepted = divergence && { offset: divergence.offset, message: divergence.message };
  return { session, agent, records, requests, ...(accepted && { accepted }) };
}

const modes: readonly TestMode[] = ['exact', 'requests', 'live'];

const optionNames = {
  mode: true,
  live: true,
  concurrency: true,
  onResult: true,
  signal: true,
  context: true,
  policy: true,
  maskText: true,
} as const;

function unknownMode(): AgentError {
  const message = `Cannot test recordings: mode must be one of ${modes.join(', ')}`;
  return new AgentError('bad_option', message, { option: 'mode' });
}

function badConcurrency(): AgentError {
  const message = 'Cannot test recordings: concurrency must be a whole number above 0';
  return new AgentError('bad_option', message, { option: 'concurrency' });
}
