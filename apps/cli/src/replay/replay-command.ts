import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { systemClock } from '@millrace/agent';
import { decodeRecording } from '@millrace/agent/testing';
import {
  type AgentEvent,
  agentEvents,
  encodeEvent,
  Folder,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import { type Log, memoryLog, readRecords } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import { untilStopped } from '../command/stop-signals.ts';
import type { ReplayArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { hasColor, Notes, Output } from '../print/output.ts';
import { secondsText } from '../print/printer.ts';
import { readText } from '../safe-files.ts';
import { isBlob, isHeader, readError, readLines } from '../sessions/export-lines.ts';
import { importLines } from '../sessions/import-sessions.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { findSession } from '../store/session-summaries.ts';
import { addFileAdvice } from '../store/unknown-operand.ts';
import { TerminalText } from '../text/terminal/terminal-gate.ts';
import { ReplayScreen } from './replay-screen.ts';

export interface ReplayCommandOptions extends StoreCommandOptions<ReplayArgs> {
  readonly clock?: Clock | undefined;
}

/**
 * Runs `millrace replay`. It prints a past session with its original timing. It runs no tools and
 * sends no requests.
 */
export async function replayCommand(options: ReplayCommandOptions): Promise<number> {
  const { args, cwd } = options;
  if (/\.jsonl$/i.test(args.session)) return replayFile(resolve(cwd, args.session), options);
  return withStore(options, async ({ log }) => {
    const { id } = await findSession(log, args.session, { cwd, flags: args }).catch(
      async (error: unknown) => {
        throw await addFileAdvice(error, { operand: args.session, cwd, ofFile: noRecording });
      },
    );
    return replay(log, id, options);
  });
}

const noRecording =
  'The file of that name is no recording: its name does not end in .jsonl. millrace report, millrace sessions pin and millrace sessions export write recordings';

/**
 * Replays the file of a bug report, of a pinned session or of an export, without a store. Of an export, it replays the
 * first session. The others are those of its sub-agents.
 */
async function replayFile(path: string, options: ReplayCommandOptions): Promise<number> {
  const { signal = new AbortController().signal } = options;
  const text = await untilStopped(signal, readText(path)).catch((error: unknown) => {
    throw readError(path, error);
  });
  const log = memoryLog();
  if (isBlob(text) || isHeader(text)) {
    const lines = readLines(Readable.from([text]));
    for await (const { session } of importLines(log, lines, options.cwd))
      return replay(log, session, options);
  }
  const { session, records, about = {} } = decodeRecording(text);
  await log.restore(session, records);
  const facts = Object.entries(about).map(([name, value]) => `${name} ${value}`);
  const notes = new Output(options.stderr, { name: 'standard error' });
  if (facts.length > 0) await notes.write(`Recorded with ${facts.join(', ')}\n`);
  return replay(log, session, options);
}

async function replay(log: Log, id: SessionId, options: ReplayCommandOptions): Promise<number> {
  const { args, stdout, stderr, env, signal, clock = systemClock } = options;
  const output = new Output(stdout);
  const isShared = stdout.isTTY === true && stderr.isTTY === true && !args.json;
  let isLineStart = true;
  const notes = new Notes(stderr, {
    hasColor: hasColor(stderr, { env, color: args.color }),
    showDetails: true,
    isMidLine: () => isShared && !isLineStart,
  });
  const onShortened = (pauseMs: number) =>
    notes.writeDetail(
      `(a pause of ${secondsText(pauseMs)}, shortened to ${secondsText(maxPauseMs)})`,
    );
  const folder = new Folder(id);
  const show = args.json ? showJson : createTextShow(options);
  for await (const record of paceRecords(readRecords(log, id), {
    ...{ speed: args.speed, clock, signal, onShortened },
  })) {
    const text = show(record, foldRecord(folder, record));
    if (text !== '') isLineStart = text.endsWith('\n');
    await (args.json ? output.writeData(text) : output.write(TerminalText.painted(text)));
    if (output.failure !== undefined) break;
  }
  // An interrupted or unfinished answer does not end with a line break.
  if (!isLineStart) await output.write('\n');
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return signal?.aborted ? exitCodes.aborted : exitCodes.done;
}

type ShowRecord = (record: LogRecord, events: readonly AgentEvent[]) => string;

const showJson: ShowRecord = (_record, events) =>
  events.map((event) => `${encodeEvent(event)}\n`).join('');

function createTextShow({ stdout, env, args }: ReplayCommandOptions): ShowRecord {
  const color = hasColor(stdout, { env, color: args.color });
  // Some terminals report 0 columns.
  const screen = new ReplayScreen({ color, columns: stdout.columns || 80 });
  return (record, events) => screen.show(record, events);
}

/**
 * Folds a record and returns its events. In a settled log, offsets may be missing before a record,
 * because a snapshot replaced earlier records. So the batch starts after the last folded offset.
 */
function foldRecord(folder: Folder, record: LogRecord): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  const batch = { after: folder.state.through, through: record.offset, records: [record] };
  folder.addBatch(batch, (...step) => events.push(...agentEvents(...step)));
  return events;
}

interface PaceOptions {
  /** The speed factor. `Infinity` shows everything immediately. */
  readonly speed: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Called if a pause is shortened. `pauseMs` is its original length. */
  readonly onShortened?: ((pauseMs: number) => void | Promise<void>) | undefined;
}

/**
 * Maximum pause between two records. Longer pauses are shortened, because a user may have returned
 * a day later.
 */
const maxPauseMs = 2000;

/** Yields the records with their original timing. Ends early if the signal aborts. */
async function* paceRecords(
  records: AsyncIterable<LogRecord>,
  { speed, clock, signal, onShortened }: PaceOptions,
): AsyncGenerator<LogRecord> {
  let lastTime: number | undefined;
  // The time at which the next record must be shown. If a record is late, the following records are
  // not delayed.
  let dueMs = clock.now();
  for await (const record of records) {
    // If the clock was set back between two records, the pause is 0.
    const pauseMs = Math.max(0, record.time - (lastTime ?? record.time));
    lastTime = record.time;
    if (pauseMs > maxPauseMs && Number.isFinite(speed)) await onShortened?.(pauseMs);
    dueMs += Math.min(pauseMs, maxPauseMs) / speed;
    const waitMs = dueMs - clock.now();
    if (waitMs >= 1) await waitFor(waitMs, clock, signal);
    if (signal?.aborted) return;
    yield record;
  }
}

function waitFor(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    if (signal?.aborted) done();
    else signal?.addEventListener('abort', done);
  });
}
