import {
  countingIds,
  DeltaWriter,
  type DraftRecord,
  type Ids,
  type ItemId,
  itemId,
  noUsage,
  runId,
  type SessionId,
} from '@millrace/core';
import type { Driver, Log } from '@millrace/log';

const usage = { ...noUsage, input: 12, output: 5 };

/**
 * Returns the records of a run with messages, reasoning, parallel calls, results with progress, a
 * superseded attempt, structured output and an image. Each inner list is one batch.
 */
export function recordedRun(
  turns = 3,
  ids: Ids = countingIds(),
  { firstTurn = 1, name = 'run' } = {},
): readonly (readonly DraftRecord[])[] {
  const run = runId(name);
  const reads: DraftRecord[][] = [
    userMessage(ids, 'What is the weather? — 😀\r\n\n"quoted"'),
    [{ turn: 0, attempt: 0, fact: { type: 'run_started', runId: run } }],
  ];
  for (let turn = 0; turn < turns; turn++) reads.push(...recordedTurn(firstTurn + turn, ids));
  const stop = { reason: 'stop' } as const;
  reads.push([{ turn: 0, attempt: 0, fact: { type: 'run_finished', runId: run, stop } }]);
  return reads;
}

export function userMessage(ids: Ids, text: string): DraftRecord[] {
  const itemId = ids.item();
  const at = { turn: 0, attempt: 0 };
  const writer = new DeltaWriter({ itemId, ...at, ids });
  writer.whole({ kind: 'text', text });
  return [
    { ...at, fact: { type: 'item_started', itemId, kind: 'user' } },
    ...writer.take().map((delta) => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId } },
  ];
}

function* recordedTurn(turn: number, ids: Ids): Iterable<DraftRecord[]> {
  const itemId = ids.item();
  yield [
    { turn, attempt: 0, fact: { type: 'turn_started' } },
    { turn, attempt: 0, fact: { type: 'item_started', itemId, kind: 'assistant' } },
  ];
  if (turn % 2 === 0) yield* supersededAttempt(turn, itemId, ids);
  const attempt = turn % 2 === 0 ? 2 : 1;
  yield* response({ turn, attempt }, itemId, ids);
  yield* results({ turn, attempt }, ids);
  const stop = { reason: 'tool_use' } as const;
  yield [{ turn, attempt: 0, fact: { type: 'turn_finished', itemId, stop } }];
}

function* supersededAttempt(turn: number, itemId: ItemId, ids: Ids): Iterable<DraftRecord[]> {
  const at = { turn, attempt: 1 };
  const writer = new DeltaWriter({ itemId, ...at, ids });
  const text = writer.text();
  for (const word of ['It ', 'will ', 'be']) {
    text.append(word);
    yield writer.take().map((delta) => ({ ...at, delta }));
  }
  yield [
    { ...at, fact: { type: 'usage_reported', usage } },
    { ...at, fact: { type: 'attempt_superseded', reason: 'truncated_stream' } },
  ];
}

type At = { readonly turn: number; readonly attempt: number };

function* response(at: At, itemId: ItemId, ids: Ids): Iterable<DraftRecord[]> {
  const writer = new DeltaWriter({ itemId, ...at, ids });
  const take = () => writer.take().map((delta) => ({ ...at, delta }));
  const reasoning = writer.reasoning('summary');
  const text = writer.text();
  for (const word of ['Let ', 'me ', 'see', ', ', 'käse', ' 🧀', '.']) {
    reasoning.append(word);
    yield take();
    // At this point two parts are open at the same time, and a batch has several deltas.
    text.append(word.toUpperCase());
    text.append(word);
    reasoning.append(word);
    text.append('!');
    yield take();
  }
  reasoning.commit();
  text.commit();
  const calls = ['a', 'b'].map((name) => writer.toolCall(ids.toolCall(), `read_${name}`));
  for (const piece of ['{"pa', 'th":', '"/tmp', '/x"}']) {
    for (const call of calls) call.append(piece);
    yield take();
  }
  for (const call of calls) call.commit();
  const value = writer.structured({ name: 'weather' });
  value.set({ city: 'Oslo' });
  value.set({ city: 'Oslo', celsius: -3.5 });
  value.commit();
  const image = writer.media('image/png');
  image.append(Uint8Array.of(1, 2, 3));
  image.append(Uint8Array.of(250, 251));
  image.commit();
  const stop = { reason: 'tool_use', raw: 'tool_calls' } as const;
  yield [...take(), { ...at, fact: { type: 'response_finished', itemId, stop, usage } }];
}

function* results(at: At, ids: Ids): Iterable<DraftRecord[]> {
  const itemId = ids.item();
  const writer = new DeltaWriter({ itemId, ...at, ids });
  const take = () => writer.take().map((delta) => ({ ...at, delta }));
  const toolCallId = ids.toolCall();
  const executionId = ids.execution();
  const tool = { toolCallId, name: 'read_a', executionId };
  yield [
    { ...at, fact: { type: 'item_started', itemId, kind: 'tool' } },
    { ...at, fact: { type: 'tool_execution_started', ...tool, summary: 'read /tmp/x' } },
  ];
  const result = writer.toolResult(toolCallId, tool.name, executionId);
  for (const word of ['reading', ' …', ' done']) {
    result.append(word);
    yield take();
  }
  result.commit();
  yield [
    ...take(),
    {
      ...at,
      fact: { type: 'tool_execution_finished', ...tool, isError: false, outcome: 'completed' },
    },
    { ...at, fact: { type: 'item_finished', itemId } },
  ];
}

/** Appends the batches of a run to a log. */
export async function appendBatches(
  log: Log,
  session: SessionId,
  reads: readonly (readonly DraftRecord[])[],
  options: { readonly isClosed?: boolean; readonly between?: () => Promise<void> } = {},
): Promise<void> {
  const driver = await log.open(session);
  for (const read of reads) {
    await driver.append(read);
    await options.between?.();
  }
  if (options.isClosed) await driver.closeSession();
  else await driver.release();
}

const at = { turn: 1, attempt: 1 };

interface TextWriter {
  readonly driver: Driver;
  /** Appends one delta. */
  append(chunk: string): Promise<unknown>;
  /** Commits the text and closes the session. */
  end(): Promise<unknown>;
}

/** Returns a writer that writes one text in one turn, one delta at a time. */
export async function openTextWriter(log: Log, session: SessionId): Promise<TextWriter> {
  const driver = await log.open(session);
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  const text = writer.text();
  const take = () => writer.take().map((delta) => ({ ...at, delta }));
  await driver.append([
    { ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } },
    ...take(),
  ]);
  return {
    driver,
    append: (chunk) => {
      text.append(chunk);
      return driver.append(take());
    },
    end: async () => {
      text.commit();
      await driver.append([...take(), { ...at, fact: { type: 'item_finished', itemId: item } }]);
      await driver.closeSession();
    },
  };
}
