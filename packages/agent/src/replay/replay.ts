import {
  emptyState,
  type FoldState,
  foldBatch,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import { type LoadedSession, sessionStates } from '@millrace/log';
import { emptyLoopState, type LoopState } from '../contract/loop-state.ts';
import type { Divergence, ReplayOptions, ReplayResult } from '../contract/replay.ts';
import type { Settings } from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';
import { LiveRun } from '../run/live-run.ts';
import { foldLoop, loopFold } from '../state/fold-loop.ts';
import type { RequestCapture } from './capture-requests.ts';
import { nextRound, Playback } from './playback.ts';
import type { RecordedDrive } from './recorded-drives.ts';
import { createRecording } from './recording.ts';
import { aborted, ReplayedLog, replayIncarnation } from './replayed-log.ts';
import { type ReplayState, replayedSettings } from './replayed-settings.ts';

interface CaptureOptions {
  /** Receives the requests that the agent would send. Default: requests are not built completely. */
  readonly capture?: RequestCapture | undefined;
  /** The context of the runs, for functions of the agent. Default: none. */
  readonly context?: unknown;
}

/**
 * Runs a recorded session through the loop again. The output of providers, tools and policies comes from
 * the recording.
 */
export async function replay(
  settings: Settings,
  session: SessionId,
  records: readonly LogRecord[],
  options: ReplayOptions & CaptureOptions,
): Promise<ReplayResult> {
  const recording = createRecording(session, records, settings.name);
  const shared = { recording, before: new StateBefore(session, records), toolsOf: cachedTools() };
  for (const drive of recording.drives) {
    const divergence = await playDrive(settings, shared, drive, options);
    if (divergence === undefined) continue;
    const same = records.filter(({ offset }) => offset < divergence.offset);
    return { session, records: same, state: stateOf(session, same), divergence };
  }
  return { session, records, state: stateOf(session, records) };
}

/** The objects that the replays of all drives share. */
interface SharedState extends Pick<ReplayState, 'recording' | 'toolsOf'> {
  readonly before: StateBefore;
}

/**
 * The state of the session before a drive. Each drive continues from the state of the previous one, so that a
 * replay folds each record only once, and not again for every later drive.
 */
class StateBefore {
  readonly #records: readonly LogRecord[];
  #state: FoldState;
  #loop = emptyLoopState;
  #count = 0;

  constructor(session: SessionId, records: readonly LogRecord[]) {
    this.#records = records;
    this.#state = emptyState(session);
  }

  /** Folds the records up to an index, which must not be smaller than the last one. */
  moveTo(index: number): LoadedSession<LoopState> {
    const records = this.#records.slice(this.#count, index);
    this.#count = index;
    for (const record of records) this.#loop = foldLoop(this.#loop, record);
    const { through: after } = this.#state;
    const through = records.at(-1)?.offset ?? after;
    this.#state = foldBatch(this.#state, { after, through, records }).state;
    return { state: this.#state, value: this.#loop, incarnation: replayIncarnation };
  }
}

function cachedTools(): ReplayState['toolsOf'] {
  const known = new Map<Settings, readonly Tool[]>();
  return (settings, find) => {
    const tools = known.get(settings) ?? find();
    known.set(settings, tools);
    return tools;
  };
}

async function playDrive(
  settings: Settings,
  { recording, before, toolsOf }: SharedState,
  drive: RecordedDrive,
  { observers = [], capture, context }: ReplayOptions & CaptureOptions,
): Promise<Divergence | undefined> {
  const { session, records } = recording;
  const playback = new Playback();
  const log = new ReplayedLog(records, playback, drive);
  const state = { recording, drive, playback, log, toolsOf, capture };
  const played = replayedSettings(settings, state, observers);
  sessionStates(played.log).keep(loopFold, before.moveTo(drive.first));
  const input = drive.input.length === 0 ? undefined : drive.input;
  const run = new LiveRun(played, {
    session,
    input,
    signal: undefined,
    trace: drive.trace,
    context,
  });
  // If the driver died, its replayed run never ends, so it is not awaited.
  const divergence = await Promise.race([log.finished, aborted(capture?.signal)]);
  if (capture?.signal?.aborted) log.close();
  capture?.signal?.throwIfAborted();
  if (divergence === undefined && hasEnded(records, drive)) await run.result;
  // The loop sends the request of the last attempt after the last record was delivered.
  if (capture !== undefined) await nextRound();
  log.close();
  capture?.signal?.throwIfAborted();
  return divergence;
}

function hasEnded(records: readonly LogRecord[], { producer, first, end }: RecordedDrive): boolean {
  const last = records.slice(first, end).findLast((record) => record.producer === producer);
  return last?.fact?.type === 'run_finished';
}

function stateOf(session: SessionId, records: readonly LogRecord[]): FoldState {
  const through = records.at(-1)?.offset ?? 0;
  return foldBatch(emptyState(session), { after: 0, through, records }).state;
}
