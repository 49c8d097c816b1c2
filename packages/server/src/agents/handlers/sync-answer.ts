import type { Ids, Stop } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { Content, ContentInput } from '../../contract/content.ts';
import type { UpdateInput } from '../../contract/message.ts';
import type { HandlerContext, SyncAgent } from '../../contract/served-agent.ts';
import { errorCode, publicReason } from '../../contract/server-error.ts';
import type { JournalTurn } from '../../contract/task-journal.ts';
import { noWarnings, type UpdateWarnings } from '../../updates/update-warnings.ts';
import { UpdateWriter } from '../../updates/update-writer.ts';
import { AbortRace, abandoned, raceTimeout } from '../abort-race.ts';
import { TurnWriter } from './turn-context.ts';

/** Describes how an answer ended. The log contains the content of the answer in every case. */
export interface AnswerOutcome {
  readonly stop: Stop;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** The value that the handler threw. */
  readonly cause?: unknown;
  readonly warnings: UpdateWarnings;
}

interface SyncHandlerOptions {
  readonly turn: JournalTurn;
  readonly context: HandlerContext;
  readonly ids: Ids;
  readonly clock: Clock;
  /** The time to wait for a handler after it was stopped, in milliseconds. */
  readonly graceMs: number;
}

/**
 * Runs the handler and writes its updates to the log as they arrive. It requests the next update only when
 * the log is ready. Clients read the log, so a slow client does not delay the answer.
 */
export async function runSyncHandler(
  { onMessage }: SyncAgent,
  content: Content,
  run: SyncHandlerOptions,
): Promise<AnswerOutcome> {
  const { turn, ids, context } = run;
  const writer = new UpdateWriter({ turn: turn.turn, attempt: turn.attempt, ids });
  const turnWriter = new TurnWriter(turn);
  let stop: Stop = { reason: 'stop' };
  let failure: { readonly thrown: unknown } | undefined;
  try {
    const isComplete = await writeUpdates(
      updatesFrom(() => onMessage(content, context)),
      writer,
      turnWriter,
      run,
    );
    if (!isComplete) stop = { reason: 'aborted' };
  } catch (thrown) {
    // `flush` throws if the log failed. The log and not the agent caused this error.
    await turnWriter.flush();
    stop = context.signal.aborted
      ? { reason: 'aborted' }
      : { reason: 'error', cause: errorCode(thrown) };
    if (!context.signal.aborted) failure = { thrown };
  }
  await turnWriter.add(stop.reason === 'stop' ? writer.end() : writer.endPartial(stop));
  await turnWriter.flush();
  return outcomeOf(stop, failure, writer.warnings);
}

function outcomeOf(
  stop: Stop,
  failure: { readonly thrown: unknown } | undefined,
  warnings: UpdateWarnings = noWarnings,
): AnswerOutcome {
  if (failure === undefined) return { stop, warnings };
  const { thrown: cause } = failure;
  return { stop, warnings, cause, error: { code: errorCode(cause), message: publicReason(cause) } };
}

/** Writes all updates. Returns false if the signal was aborted first. */
async function writeUpdates(
  updates: AsyncIterable<UpdateInput>,
  writer: UpdateWriter,
  turnWriter: TurnWriter,
  { context: { signal }, clock, graceMs }: SyncHandlerOptions,
): Promise<boolean> {
  using watch = new AbortRace(signal);
  const iterator = updates[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const next = await watch.raceAbort(iterator.next());
      if (next === abandoned) return false;
      isDone = next.done === true;
      if (next.done) return true;
      await turnWriter.add(writer.write(next.value));
    }
  } finally {
    // If the iterator does not close within `graceMs`, the code stops waiting for it.
    if (!isDone) await raceTimeout(closeIterator(iterator), clock, graceMs);
  }
}

async function closeIterator(iterator: AsyncIterator<UpdateInput>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // An error that the iterator throws after the end of the answer is ignored.
  }
}

/**
 * Yields the updates of a stream. If the handler returned a list of messages, it yields one full update per
 * message.
 */
async function* updatesFrom(
  answer: () => ReturnType<SyncAgent['onMessage']>,
): AsyncGenerator<UpdateInput> {
  const result = await answer();
  if (isStream(result)) {
    yield* result;
    return;
  }
  const contents: readonly ContentInput[] = isList(result) ? result : [result];
  for (const [index, content] of contents.entries()) yield { type: 'full', index, content };
}

type HandlerResult = AsyncIterable<UpdateInput> | ContentInput | readonly ContentInput[];

function isStream(result: HandlerResult): result is AsyncIterable<UpdateInput> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}

function isList(result: ContentInput | readonly ContentInput[]): result is readonly ContentInput[] {
  return Array.isArray(result);
}
