import { addUsage, type ItemId, noUsage } from '@millrace/core';
import { durationMs, type Span } from '@millrace/core/spans';
import { assertKnownOptions } from '../known-options.ts';
import { nextRound } from '../replay/playback.ts';
import { compareTurns, hasRedaction, type TurnPair } from './compare-turns.ts';
import { openTurns, type SessionTurns } from './read-turns.ts';
import type {
  DiffedSession,
  DiffOptions,
  DiffSource,
  SessionDiff,
  SessionDifference,
  TurnComparison,
  TurnTotals,
  WorkTotals,
} from './session-diff.ts';
import type { TurnHistory } from './turn-history.ts';

/**
 * Compares two sessions: it aligns their turns and calls, and finds the first record at which they went
 * different ways, and why. Ids, times, metadata and the lengths of streamed pieces do not count. The sessions
 * are read page by page, so the memory depends on the longest turn and on the number of turns. The time is
 * linear in the size of the records, and other work of the process runs between turns and long parts.
 *
 * @example
 * const { divergence } = await diffSessions({ log, session: 'monday' }, { log, session: 'tuesday' });
 * console.log(divergence?.cause, divergence?.a?.offset, divergence?.b?.offset);
 */
export async function diffSessions(
  a: DiffSource,
  b: DiffSource,
  options: DiffOptions = {},
): Promise<SessionDiff> {
  assertKnownOptions('diffSessions', options, { maxDifferences: true, maxTextLength: true });
  const first = await comparePass(a, b, options, new Set());
  // A redaction is written after the content that it removes. Its items are known only at the end.
  if (first.redacted.size === 0) return first.diff;
  return (await comparePass(a, b, options, first.redacted)).diff;
}

interface Pass {
  readonly diff: SessionDiff;
  /** The items that are redacted in one of the sessions. */
  readonly redacted: ReadonlySet<ItemId>;
}

async function comparePass(
  sourceA: DiffSource,
  sourceB: DiffSource,
  { maxDifferences = 100, maxTextLength = 16_384 }: DiffOptions,
  redacted: ReadonlySet<ItemId>,
): Promise<Pass> {
  const [a, b] = [await openTurns(sourceA), await openTurns(sourceB)];
  const differences: SessionDifference[] = [];
  const turns: TurnComparison[] = [];
  const redactedTurns: number[] = [];
  let differenceCount = 0;
  for await (const pair of alignedTurns(a, b)) {
    // Other work of the process runs between two turns.
    await nextRound();
    const found = await compareTurns(pair, { maxTextLength, redacted });
    differenceCount += found.length;
    differences.push(...found.slice(0, Math.max(0, maxDifferences - differences.length)));
    const [one, other] = [pair.a && turnTotals(pair.a), pair.b && turnTotals(pair.b)];
    const turn = (pair.a ?? pair.b)?.turn ?? 0;
    turns.push({ turn, isSame: found.length === 0, a: one, b: other });
    if (hasRedaction(pair, redacted)) redactedTurns.push(turn);
  }
  const diff = {
    a: sessionTotals(
      a,
      turns.flatMap((one) => one.a ?? []),
    ),
    b: sessionTotals(
      b,
      turns.flatMap((one) => one.b ?? []),
    ),
    ...{ divergence: differences[0], differences, differenceCount, turns, redactedTurns },
  };
  return { diff, redacted: new Set([...a.redacted, ...b.redacted]) };
}

/** Yields the turns of both sessions side by side, in the order of their numbers. */
export async function* alignedTurns(a: SessionTurns, b: SessionTurns): AsyncGenerator<TurnPair> {
  let [one, other] = [await nextOf(a), await nextOf(b)];
  while (one !== undefined || other !== undefined) {
    const turn = Math.min(
      one?.turn ?? Number.POSITIVE_INFINITY,
      other?.turn ?? Number.POSITIVE_INFINITY,
    );
    const [hasA, hasB] = [one?.turn === turn, other?.turn === turn];
    yield { a: hasA ? one : undefined, b: hasB ? other : undefined };
    if (hasA) one = await nextOf(a);
    if (hasB) other = await nextOf(b);
  }
}

async function nextOf({ turns }: SessionTurns): Promise<TurnHistory | undefined> {
  const { value, done } = await turns.next();
  return done ? undefined : value;
}

function turnTotals({ spans, first, last, gap }: TurnHistory): TurnTotals {
  const all = spans.spans;
  const endTime = last?.time ?? 0;
  const attempts = all.filter(({ kind }) => kind === 'attempt');
  const sum = (spansOf: readonly Span[]) =>
    spansOf.reduce((total, span) => total + durationMs(span, endTime), 0);
  const calls = all.filter(({ kind }) => kind === 'call' || kind === 'agent');
  return {
    offset: first?.offset ?? 0,
    endOffset: last?.offset ?? 0,
    model: attempts.at(-1)?.model,
    durationMs: Math.max(0, sum(all.filter(({ kind }) => kind === 'turn')) - gap.ms),
    modelMs: Math.max(0, sum(attempts) - gap.answerMs),
    toolMs: sum(calls),
    approvalMs: sum(all.filter(({ kind }) => kind === 'approval')),
    requests: attempts.length,
    executions: calls.length,
    usage: all.reduce((total, { usage = noUsage }) => addUsage(total, usage), noUsage),
  };
}

function sessionTotals(
  { session, through, lastTurn }: SessionTurns,
  turns: readonly TurnTotals[],
): DiffedSession {
  const none: WorkTotals = {
    ...{ durationMs: 0, modelMs: 0, toolMs: 0, approvalMs: 0, requests: 0, executions: 0 },
    usage: noUsage,
  };
  const totals = turns.reduce(
    (sum, turn) => ({
      durationMs: sum.durationMs + turn.durationMs,
      modelMs: sum.modelMs + turn.modelMs,
      toolMs: sum.toolMs + turn.toolMs,
      approvalMs: sum.approvalMs + turn.approvalMs,
      requests: sum.requests + turn.requests,
      executions: sum.executions + turn.executions,
      usage: addUsage(sum.usage, turn.usage),
    }),
    none,
  );
  return { session, through, turns: lastTurn(), ...totals };
}
