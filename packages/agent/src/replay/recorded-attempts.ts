import {
  type Delta,
  type ErrorInfo,
  type Fact,
  type ItemId,
  type LogRecord,
  noUsage,
  type PartId,
  type ResponseDetails,
  type Stop,
  type Usage,
} from '@millrace/core';

/** The output of a provider in one attempt, and the end of the response. */
export interface RecordedAttempt {
  readonly itemId: ItemId;
  readonly provider: string;
  readonly model: string;
  readonly deltas: readonly Delta[];
  /** The end of the response. Undefined if the process that drove the session died before the end. */
  readonly end: RecordedEnd | undefined;
}

export interface RecordedEnd {
  /** The number of records before the end. All later records of the attempt are consequences of the end. */
  readonly after: number;
  readonly stop: Stop;
  readonly usage: Usage;
  readonly details?: ResponseDetails | undefined;
  readonly error: ErrorInfo | undefined;
  /** The delay before the next attempt, in milliseconds. Undefined if no next attempt was scheduled. */
  readonly delayMs: number | undefined;
}

/** Returns all recorded attempts. The key of each is `turn.attempt`. */
export function recordedAttempts(
  records: readonly LogRecord[],
  items: ReadonlyMap<PartId, ItemId>,
): ReadonlyMap<string, RecordedAttempt> {
  const attempts = new Map<string, RecordedAttempt>();
  for (const [key, all] of byAttempt(records)) {
    const start = all.findLast(({ fact }) => fact?.type === 'response_started');
    if (start?.fact?.type !== 'response_started') continue;
    const { itemId, provider, model } = start.fact;
    // Records that a later driver wrote about the attempt are omitted, because they do not come from the
    // provider.
    const own = all.filter(({ at, producer }) => at > start.at && producer === start.producer);
    // After the end of a summary, the loop retracts the tool calls in it. These retractions are not output of
    // the provider.
    const finished = own.find(({ fact }) => fact?.type === 'response_finished')?.at;
    const output = own.filter(
      ({ delta, at }) => isOf(delta, itemId, items) && at < (finished ?? Number.POSITIVE_INFINITY),
    );
    const deltas = output.flatMap(({ delta }) => delta ?? []);
    const end = endOf(own, output.at(-1)?.at ?? start.at);
    attempts.set(key, { itemId, provider, model, deltas, end });
  }
  return attempts;
}

type PositionedRecord = LogRecord & { readonly at: number };

function byAttempt(
  records: readonly LogRecord[],
): ReadonlyMap<string, readonly PositionedRecord[]> {
  const groups = new Map<string, PositionedRecord[]>();
  for (const [at, record] of records.entries()) {
    const key = `${record.turn}.${record.attempt}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [{ ...record, at }]);
    else group.push({ ...record, at });
  }
  return groups;
}

function isOf(
  delta: Delta | undefined,
  item: ItemId,
  items: ReadonlyMap<PartId, ItemId>,
): delta is Delta {
  return delta !== undefined && 'partId' in delta && items.get(delta.partId) === item;
}

function endOf(own: readonly PositionedRecord[], last: number): RecordedEnd | undefined {
  const after = own.find(({ at, fact }) => at > last && fact !== undefined && followsEnd(fact))?.at;
  const find = <T extends Fact['type']>(type: T) =>
    own.find(({ fact }) => fact?.type === type)?.fact as Extract<Fact, { type: T }> | undefined;
  const finished = find('response_finished');
  if (after === undefined) return undefined;
  if (finished !== undefined) {
    const { stop, usage, details } = finished;
    const failed = stop.reason === 'error' || stop.reason === 'aborted';
    const reportedError = find('error_reported')?.error;
    const error = reportedError ?? { code: stop.cause ?? 'aborted', message: 'It was stopped' };
    const end = { after, stop, usage, details, delayMs: undefined };
    return { ...end, error: failed ? error : undefined };
  }
  const { usage = noUsage } = find('usage_reported') ?? {};
  const { error: reported } = find('error_reported') ?? {};
  // A fork can end in the middle of a batch. Some of these facts are then missing, and the code below uses
  // defaults.
  const code = find('attempt_superseded')?.reason ?? 'server';
  const lost = reported ?? { code, message: 'It failed' };
  const { error = lost, delayMs = 0 } = find('retry_scheduled') ?? {};
  const stop = { reason: 'error', cause: error.code } as const;
  return { after, stop, usage, error, delayMs: reported === undefined ? delayMs : undefined };
}

/** Returns true for facts that the loop writes after a response ended. */
function followsEnd(fact: Fact): boolean {
  return (
    fact.type === 'response_finished' ||
    fact.type === 'error_reported' ||
    fact.type === 'usage_reported' ||
    (fact.type === 'tool_execution_finished' && fact.outcome === 'discarded')
  );
}

/** Returns, for each part, the id of its item. */
export function itemsOfParts(records: readonly LogRecord[]): ReadonlyMap<PartId, ItemId> {
  const items = new Map<PartId, ItemId>();
  for (const { delta } of records) {
    const itemId = delta === undefined ? undefined : itemNamedBy(delta);
    if (itemId !== undefined && delta !== undefined && 'partId' in delta)
      items.set(delta.partId, itemId);
  }
  return items;
}

function itemNamedBy(delta: Delta): ItemId | undefined {
  return 'itemId' in delta ? delta.itemId : undefined;
}
