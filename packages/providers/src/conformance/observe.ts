import {
  attemptOf,
  countingIds,
  type Delta,
  emptyState,
  type FoldState,
  foldBatch,
  type Item,
  itemId,
  type LogRecord,
  MillraceError,
  recordVersion,
  sessionId,
  type ToolCallPart,
  transcript,
  type Usage,
  validate,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamItem, StreamStep } from '../contract/provider.ts';
import { systemClock } from '../transport/clock.ts';

export interface ObservedStream {
  readonly item: Item;
  readonly deltas: readonly Delta[];
  readonly end: ResponseEnd;
}

export interface ObserveOptions {
  readonly request?: ModelRequest | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onStep?: ((step: StreamStep) => void) | undefined;
}

export const streamItem: StreamItem = { id: itemId('answer'), turn: 3, attempt: 2 };
export const hello: ModelRequest = {
  items: [{ id: itemId('question'), kind: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
};

/** Streams one answer and checks each step against the contract. */
export async function observe(
  provider: Provider,
  options: ObserveOptions = {},
): Promise<ObservedStream> {
  const context = { item: streamItem, ids: countingIds(), signal: options.signal };
  const log = new CheckedLog();
  const deltas: Delta[] = [];
  let end: ResponseEnd | undefined;
  for await (const step of provider.stream(options.request ?? hello, context)) {
    check(end === undefined, 'a step came after the end');
    for (const delta of step.deltas) log.add(delta);
    deltas.push(...step.deltas);
    end = step.end;
    options.onStep?.(step);
  }
  check(end !== undefined, 'the stream has no end step');
  checkEnd(end, provider);
  check(log.state.open.length === 0, 'a part is still open at the end');
  return { item: log.item(), deltas, end };
}

function checkEnd({ stop, error, usage }: ResponseEnd, provider: Provider): void {
  const hasFailed = stop.reason === 'error' || stop.reason === 'aborted';
  check(
    hasFailed === (error !== undefined),
    `the stop reason ${stop.reason} does not match the error`,
  );
  if (error !== undefined) {
    check(error.kind.length > 0, 'the error has no kind');
    checkEqual(error.provider, provider.id, "the error's provider");
  }
  checkUsage(usage);
}

function checkUsage(usage: Usage): void {
  for (const name of ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const) {
    const count = usage[name];
    check(Number.isInteger(count) && count >= 0, `the usage has ${count} as ${name}`);
  }
  check(
    usage.input >= usage.cacheRead + usage.cacheWrite,
    'the usage has more cached than input tokens',
  );
  check(usage.output >= usage.reasoning, 'the usage has more reasoning than output tokens');
}

/** A log that throws for each record that the protocol does not allow. */
class CheckedLog {
  state: FoldState = emptyState(sessionId('conformance'));
  #offset = 0;

  constructor() {
    const fact = { type: 'item_started', itemId: streamItem.id, kind: 'assistant' } as const;
    this.#append({ ...this.#head(), fact });
  }

  add(delta: Delta): void {
    const { turn, attempt } = streamItem;
    // `validate` throws if the protocol does not allow the delta.
    validate(this.state, { turn, attempt, delta });
    if (delta.type !== 'unknown') {
      const named = attemptOf(delta.partId);
      check(named.turn === turn && named.attempt === attempt, 'a part belongs to another attempt');
    }
    const isElsewhere = 'itemId' in delta && delta.itemId !== streamItem.id;
    check(!isElsewhere, 'a part belongs to an item that the caller did not start');
    this.#append({ ...this.#head(), delta });
  }

  item(): Item {
    const [item] = transcript(this.state);
    check(item !== undefined, 'the item is missing');
    return item;
  }

  #head() {
    const { turn, attempt } = streamItem;
    const offset = ++this.#offset;
    return { v: recordVersion, offset, time: 0, turn, attempt, producer: 'conformance' } as const;
  }

  #append(record: LogRecord): void {
    const batch = { after: record.offset - 1, through: record.offset, records: [record] };
    const folded = foldBatch(this.state, batch);
    check(folded.outcome === 'applied', `a delta folds to ${folded.outcome}`);
    this.state = folded.state;
  }
}

/**
 * A case fails after this time if the provider does not answer. The time is shorter than the provider's own
 * timeouts.
 */
const timeoutMs = 2000;

export async function withTimeout<T>(result: Promise<T>, otherwise: string): Promise<T> {
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = systemClock.after(timeoutMs, () => resolve(undefined));
  });
  try {
    const first = await Promise.race([result.then((value) => ({ value })), late]);
    check(first !== undefined, otherwise);
    return first.value;
  } finally {
    cancel();
  }
}

/** Returns the joined text of all text parts of an item. */
export function textOf({ parts }: Item): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

export function reasoningOf({ parts }: Item): string {
  return parts.map((part) => (part.kind === 'reasoning' ? part.text : '')).join('');
}

export function callsOf({ parts }: Item): readonly ToolCallPart[] {
  return parts.flatMap((part) => (part.kind === 'tool_call' ? part : []));
}

export function appendedBy(deltas: readonly Delta[]): string {
  return deltas.map((delta) => (delta.type === 'append_text' ? delta.chunk : '')).join('');
}

/** Thrown if a provider violates the contract. */
export class ConformanceError extends MillraceError<'not_conformant'> {}

export function check(isTrue: boolean, otherwise: string): asserts isTrue {
  if (!isTrue)
    throw new ConformanceError('not_conformant', `The provider is not conformant: ${otherwise}`);
}

export function checkEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  check(a === b, `${what} is ${a} instead of ${b}`);
}
