import type { Ids, Stop } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { Content, ContentInput } from '../../contract/content.ts';
import type { UpdateInput } from '../../contract/message.ts';
import type { HandlerContext, SyncAgent } from '../../contract/served-agent.ts';
import { codeOf, reasonOf } from '../../contract/server-error.ts';
import type { JournalTurn } from '../../contract/task-journal.ts';
import { noWarnings, type UpdateWarnings } from '../../updates/update-warnings.ts';
import { UpdateWriter } from '../../updates/update-writer.ts';
import { AbortWatch, left, unlessLate } from '../abort-race.ts';
import { TurnFlow } from './turn-context.ts';

/** How an answer ended. What was said is on the log in any case. */
export interface TurnEnd {
  readonly stop: Stop;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** What was thrown. */
  readonly cause?: unknown;
  readonly warnings: UpdateWarnings;
}

interface SyncRun {
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
export async function runSync(
  { onMessage }: SyncAgent,
  content: Content,
  run: SyncRun,
): Promise<TurnEnd> {
  const { turn, ids, context } = run;
  const writer = new UpdateWriter({ turn: turn.turn, attempt: turn.attempt, ids });
  const flow = new TurnFlow(turn);
  let stop: Stop = { reason: 'stop' };
  let failure: { readonly thrown: unknown } | undefined;
  try {
    const isWhole = await pour(
      updatesFrom(() => onMessage(content, context)),
      writer,
      flow,
      run,
    );
    if (!isWhole) stop = { reason: 'aborted' };
  } catch (thrown) {
    // What the log did not take is nothing that the agent did.
    await flow.settled();
    stop = context.signal.aborted
      ? { reason: 'aborted' }
      : { reason: 'error', cause: codeOf(thrown) };
    if (!context.signal.aborted) failure = { thrown };
  }
  await flow.add(stop.reason === 'stop' ? writer.end() : writer.endPartial(stop));
  await flow.settled();
  return endOf(stop, failure, writer.warnings);
}

function endOf(
  stop: Stop,
  failure: { readonly thrown: unknown } | undefined,
  warnings: UpdateWarnings = noWarnings,
): TurnEnd {
  if (failure === undefined) return { stop, warnings };
  const { thrown: cause } = failure;
  return { stop, warnings, cause, error: { code: codeOf(cause), message: reasonOf(cause) } };
}

/** To the end, or until somebody stops it; then false. */
async function pour(
  updates: AsyncIterable<UpdateInput>,
  writer: UpdateWriter,
  flow: TurnFlow,
  { context: { signal }, clock, graceMs }: SyncRun,
): Promise<boolean> {
  using watch = new AbortWatch(signal);
  const iterator = updates[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const next = await watch.unlessAborted(iterator.next());
      if (next === left) return false;
      isDone = next.done === true;
      if (next.done) return true;
      await flow.add(writer.write(next.value));
    }
  } finally {
    // One that does not let itself be left is left all the same.
    if (!isDone) await unlessLate(leave(iterator), clock, graceMs);
  }
}

async function leave(iterator: AsyncIterator<UpdateInput>): Promise<void> {
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
  const given = await answer();
  if (isStream(given)) {
    yield* given;
    return;
  }
  const contents: readonly ContentInput[] = isList(given) ? given : [given];
  for (const [index, content] of contents.entries()) yield { type: 'full', index, content };
}

type Given = AsyncIterable<UpdateInput> | ContentInput | readonly ContentInput[];

function isStream(given: Given): given is AsyncIterable<UpdateInput> {
  return typeof given === 'object' && given !== null && Symbol.asyncIterator in given;
}

function isList(given: ContentInput | readonly ContentInput[]): given is readonly ContentInput[] {
  return Array.isArray(given);
}
