import {
  emptyState,
  type FoldState,
  foldBatch,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import type { Divergence, ReplayOptions, ReplayResult } from '../contract/replay.ts';
import type { Settings } from '../contract/settings.ts';
import { LiveRun } from '../run/live-run.ts';
import type { RequestCapture } from './capture-requests.ts';
import { nextRound, Playback } from './playback.ts';
import type { RecordedDrive } from './recorded-drives.ts';
import { createRecording, type Recording } from './recording.ts';
import { aborted, ReplayedLog } from './replayed-log.ts';
import { replayedSettings } from './replayed-settings.ts';

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
  const recording = createRecording(session, records);
  for (const drive of recording.drives) {
    const divergence = await playDrive(settings, recording, drive, options);
    if (divergence === undefined) continue;
    const same = records.filter(({ offset }) => offset < divergence.offset);
    return { session, records: same, state: stateOf(session, same), divergence };
  }
  return { session, records, state: stateOf(session, records) };
}

async function playDrive(
  settings: Settings,
  recording: Recording,
  drive: RecordedDrive,
  { observers = [], capture, context }: ReplayOptions & CaptureOptions,
): Promise<Divergence | undefined> {
  const { session, records } = recording;
  const playback = new Playback();
  const log = new ReplayedLog(records, playback, drive);
  const state = { recording, drive, playback, log, root: settings.name, capture };
  const played = replayedSettings(settings, state, observers);
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
