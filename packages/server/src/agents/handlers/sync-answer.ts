import type { Ids, Stop } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { Content, ContentInput } from '../../contract/content.ts';
import type { UpdateInput } from '../../contract/message.ts';
import type { HandlerContext, SyncAgent } from '../../contract/served-agent.ts';
import { errorCode, errorReason } from '../../contract/server-error.ts';
import type { JournalTurn } from '../../contract/task-journal.ts';
import { noWarnings, type UpdateWarnings } from '../../updates/update-warnings.ts';
import { UpdateWriter } from '../../updates/update-writer.ts';
import { AbortRace, abandoned, raceTimeout } from '../abort-race.ts';
import { TurnWriter } from './turn-context.ts';

/** How an answer ended. What was said is on the log in any case. */
export interface AnswerOutcome {
  readonly stop: Stop;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** What was thrown. */
  readonly cause?: unknown;
  readonly warnings: UpdateWarnings;
}

interface SyncHandlerOptions {
  readonly turn: JournalTurn;
  readonly context: HandlerContext;
  readonly ids: Ids;
  readonly clock: Clock;
  /** How long an agent that was told to stop is waited for. */
  readonly graceMs: number;
}

/**
 * Answers a message: what the agent yields goes to the log as it comes, and never more than the log
 * has room for is asked of it. Whoever watches reads the log, so it does not matter who does.
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
    // What the log did not take is nothing that the agent did.
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
  return { stop, warnings, cause, error: { code: errorCode(cause), message: errorReason(cause) } };
}

/** To the end, or until somebody stops it; then false. */
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
    // One that does not let itself be left is left all the same.
    if (!isDone) await raceTimeout(closeIterator(iterator), clock, graceMs);
  }
}

async function closeIterator(iterator: AsyncIterator<UpdateInput>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // What it says when nobody listens any more does not count.
  }
}

/** A stream, or an answer that comes whole: one message each. */
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
