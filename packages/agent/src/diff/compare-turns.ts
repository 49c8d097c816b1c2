import { type ItemId, type JsonValue, parseJson } from '@millrace/core';
import { hasSameContent } from '../replay/divergence.ts';
import { nextRound } from '../replay/playback.ts';
import { compareParts, textAround, valueChanges } from './compare-content.ts';
import { lengthOf, type PartContent, type RecordPlace } from './content.ts';
import { describeDifference } from './describe-difference.ts';
import type { DiffCause, DifferenceSide, SessionDifference, ValueChange } from './session-diff.ts';
import type { HistoryItem, Step, TurnHistory } from './turn-history.ts';
import { laneOrder, type TurnLanes, turnLanes } from './turn-lanes.ts';

/** The same turn of two sessions. A session that does not have the turn has no history. */
export interface TurnPair {
  readonly a: TurnHistory | undefined;
  readonly b: TurnHistory | undefined;
}

export interface CompareOptions {
  readonly maxTextLength: number;
  /** The items that are redacted in one of the sessions. */
  readonly redacted: ReadonlySet<ItemId>;
}

type Difference = Omit<SessionDifference, 'message' | 'turn'>;
type CallLabel = SessionDifference['call'];

/**
 * Returns the differences of a turn, the first one in the logs first. Other work of the process runs between
 * the parts of a long turn.
 */
export async function compareTurns(
  { a, b }: TurnPair,
  { maxTextLength, redacted }: CompareOptions,
): Promise<readonly SessionDifference[]> {
  const turn = (a ?? b)?.turn ?? 0;
  const isSettled = (a?.isSettled ?? false) || (b?.isSettled ?? false);
  const lanes = { isSettled, hasRedaction: hasRedaction({ a, b }, redacted) };
  const comparison = new Comparison(turnLanes(a, lanes), turnLanes(b, lanes), maxTextLength);
  // A redaction also removes the summaries of later compactions.
  const stepsOf = (of: TurnHistory | undefined) =>
    redacted.size === 0 ? (of?.steps ?? []) : (of?.steps ?? []).map(withoutSummary);
  comparison.compareSteps(stepsOf(a), stepsOf(b));
  await comparison.compareInputs();
  await comparison.compareAnswers();
  await comparison.compareCalls();
  comparison.compareRequests(a, b);
  return comparison.differences
    .sort(laneOrder)
    .map((one) => ({ ...one, turn, message: describeDifference({ ...one, turn }) }));
}

/** Returns true if an item of the turn is redacted in one of the sessions. */
export function hasRedaction({ a, b }: TurnPair, redacted: ReadonlySet<ItemId>): boolean {
  return [a, b].some((one) => [...(one?.items.keys() ?? [])].some((id) => redacted.has(id)));
}

function withoutSummary(step: Step): Step {
  const { summary: _, ...value } = step.value;
  return { ...step, value };
}

/** The work of comparing a part without content, in characters. */
const minWork = 256;

/** The amount of work after which the comparison pauses, so that other work of the process can run. */
const maxWork = 2 ** 17;

class Comparison {
  readonly differences: Difference[] = [];
  readonly #a: TurnLanes;
  readonly #b: TurnLanes;
  readonly #maxTextLength: number;
  /** The work since the last pause, in characters. */
  #work = 0;

  constructor(a: TurnLanes, b: TurnLanes, maxTextLength: number) {
    this.#a = a;
    this.#b = b;
    this.#maxTextLength = maxTextLength;
  }

  /** Compares two lists of facts up to their first difference. What follows it cannot be aligned. */
  compareSteps(a: readonly Step[], b: readonly Step[], call?: CallLabel): void {
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      const [one, other] = [a[at], b[at]];
      if (one && other && isSameKind(one, other)) {
        if (hasSameContent(one.value, other.value)) continue;
        return this.#addStepChange(one, other, call);
      }
      // A fact is additional if the other list has no fact of its kind.
      const isExtraA = one && (!other || b.every((step) => !isSameKind(step, one)));
      const isExtraB = other && (!one || a.every((step) => !isSameKind(step, other)));
      const sides = {
        a: isExtraA || !isExtraB ? one : undefined,
        b: isExtraB || !isExtraA ? other : undefined,
      };
      return this.#addPresence(sides, call);
    }
  }

  #addStepChange(a: Step, b: Step, call: CallLabel): void {
    const changes = valueChanges(a.value, b.value);
    const field = changes[0]?.path.split('/')[1] ?? 'value';
    const { cause, attempt } = a;
    this.#add({
      ...{ cause, attempt, field, call, changes },
      a: { ...place(a), value: a.value[field] },
      b: { ...place(b), value: b.value[field] },
    });
  }

  #addPresence(
    { a, b }: { readonly a: Step | undefined; readonly b: Step | undefined },
    call: CallLabel,
  ): void {
    const cause = firstCause(a?.cause, b?.cause);
    const attempt = (a ?? b)?.attempt ?? 0;
    const sideOf = (step: Step | undefined) => step && { ...place(step), value: step.value };
    this.#add({ cause, attempt, field: 'presence', call, a: sideOf(a), b: sideOf(b) });
  }

  /** Compares the items that are not from the model or from tools, in order. */
  async compareInputs(): Promise<void> {
    const [a, b] = [this.#a.inputs, this.#b.inputs];
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      const [one, other] = [a[at], b[at]];
      if (one?.kind !== other?.kind) {
        const cause = firstCause(one && causeOf(one), other && causeOf(other));
        const sideOf = (item: HistoryItem | undefined) =>
          item && this.#side(item.first, item.parts[0], item.itemId, 0);
        this.#add({ cause, attempt: 0, field: 'presence', a: sideOf(one), b: sideOf(other) });
        return;
      }
      if (one && other) await this.#compareContents(one.parts, other.parts, causeOf(one));
    }
  }

  async compareAnswers(): Promise<void> {
    const attempts = new Set([...this.#a.answers.keys(), ...this.#b.answers.keys()]);
    for (const attempt of [...attempts].sort((one, other) => one - other))
      await this.#compareContents(
        this.#a.answers.get(attempt) ?? [],
        this.#b.answers.get(attempt) ?? [],
        'answer',
      );
  }

  /** Compares the calls by their position in the answer. */
  async compareCalls(): Promise<void> {
    const [a, b] = [this.#a.calls, this.#b.calls];
    for (let index = 0; index < Math.max(a.length, b.length); index++) {
      const [one, other] = [a[index], b[index]];
      // The comparison of the answers has already found a call that is missing or uses another tool.
      const isOther = (one?.name ?? '') !== (other?.name ?? '');
      if (isOther) continue;
      const label = { index, name: (one ?? other)?.name ?? '' };
      if (!one?.isGiven && !other?.isGiven)
        this.compareSteps(one?.steps ?? [], other?.steps ?? [], label);
      await this.#compareContents(one?.results ?? [], other?.results ?? [], 'tool_result', label);
    }
  }

  /**
   * Compares the numbers of tokens in the requests. If they differ, the provider received another request, so
   * another answer is a consequence.
   */
  compareRequests(a: TurnHistory | undefined, b: TurnHistory | undefined): void {
    for (const [attempt, one] of a?.requests ?? []) {
      const other = b?.requests.get(attempt);
      if (other === undefined || one.inputTokens === other.inputTokens) continue;
      if (this.differences.some((known) => known.attempt === attempt && known.field === 'model'))
        continue;
      for (const [at, known] of this.differences.entries())
        if (known.cause === 'answer' && known.attempt === attempt)
          this.differences[at] = { ...known, cause: 'request' };
      this.#add({
        ...{ cause: 'request', attempt, field: 'inputTokens' },
        a: { ...place(one), value: one.inputTokens },
        b: { ...place(other), value: other.inputTokens },
      });
    }
  }

  async #compareContents(
    a: readonly PartContent[],
    b: readonly PartContent[],
    cause: DiffCause,
    label?: CallLabel,
  ): Promise<void> {
    let calls = 0;
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      const [one, other] = [a[at], b[at]];
      const known = one ?? other;
      if (known === undefined) return;
      await this.#pauseBefore(known);
      const isCall = known.head['kind'] === 'tool_call';
      const call =
        label ?? (isCall ? { index: calls++, name: String(known.head['name']) } : undefined);
      const found =
        one && other
          ? compareParts(one, other)
          : { field: 'presence', a: one?.first, b: other?.first };
      if (found === undefined) continue;
      const position = ('at' in found ? found.at : undefined) ?? 0;
      this.#add({
        ...{ cause, attempt: known.attempt, field: found.field, call },
        a: found.a && this.#side(found.a, one, known.itemId, position),
        b: found.b && this.#side(found.b, other, (other ?? known).itemId, position),
        ...(one && other && { changes: changesOf(one, other) }),
      });
      // Parts of another kind cannot be aligned.
      if (one && other && one.head['kind'] !== other.head['kind']) return;
    }
  }

  #side(
    at: RecordPlace,
    part: PartContent | undefined,
    itemId: ItemId,
    position: number,
  ): DifferenceSide {
    const text = part && textAround(part, position, this.#maxTextLength);
    const value = part?.value?.value;
    return {
      ...place(at),
      itemId,
      ...(part?.toolCallId !== undefined && { toolCallId: part.toolCallId }),
      ...(text !== undefined && { text }),
      ...(value !== undefined && { value }),
    };
  }

  /** Lets other work of the process run if the comparisons since the last pause were long. */
  async #pauseBefore({ pieces, value }: PartContent): Promise<void> {
    // The size of a value is not known, so it counts as long.
    this.#work += value === undefined ? minWork + lengthOf(pieces) : maxWork;
    if (this.#work < maxWork) return;
    this.#work = 0;
    await nextRound();
  }

  #add(difference: Difference): void {
    this.differences.push(difference);
  }
}

function place({ offset, type }: RecordPlace): RecordPlace {
  return { offset, type };
}

function isSameKind(a: Step, b: Step): boolean {
  return a.type === b.type && a.attempt === b.attempt;
}

function causeOf({ kind }: HistoryItem): DiffCause {
  return kind === 'user' ? 'command' : 'request';
}

/** The causes of differences. An earlier cause in this list can explain a later one. */
const precedence: readonly DiffCause[] = ['command', 'setting', 'request', 'answer', 'tool_result'];

function firstCause(a: DiffCause | undefined, b: DiffCause | undefined): DiffCause {
  return precedence.find((cause) => cause === a || cause === b) ?? 'setting';
}

/** The maximum length of arguments that are parsed for a comparison. */
const maxParsedLength = 2 ** 18;

/**
 * Returns the changed places of arguments and values. Texts that are not JSON, and very long arguments, have
 * none.
 */
function changesOf(a: PartContent, b: PartContent): readonly ValueChange[] | undefined {
  const [one, other] = [jsonOf(a), jsonOf(b)];
  if (one === undefined || other === undefined) return undefined;
  const changes = valueChanges(one, other);
  return changes.length === 0 ? undefined : changes;
}

function jsonOf({ head, pieces, value }: PartContent): JsonValue | undefined {
  if (head['kind'] !== 'tool_call') return value?.value;
  if (lengthOf(pieces) > maxParsedLength) return undefined;
  const parsed = parseJson(pieces.map(({ chunk }) => chunk).join(''));
  return 'value' in parsed ? parsed.value : undefined;
}
