import {
  agentEvents,
  type DraftRecord,
  executionId,
  type Fact,
  Folder,
  type FoldState,
  itemId,
  noUsage,
  type Part,
  type PartId,
  type PartStart,
  partId,
  recordVersion,
  runId,
  sessionId,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type { ChatSource } from '@millrace/react';
import { FactIndex } from '@millrace/react';
import { stateSource } from '@millrace/react/inspector';

/**
 * The time of the first sample record, in ms since 1970. It is fixed, so that the gallery always
 * looks the same.
 */
const startMs = Date.UTC(2026, 0, 5, 9, 41);

/** Builds the records of a sample session, and returns a chat source for them. */
class SampleSession {
  readonly #drafts: DraftRecord[] = [];
  #parts = 0;

  fact(fact: Fact): this {
    this.#drafts.push({ turn: 1, attempt: 1, fact });
    return this;
  }

  /** Adds an item with complete parts. */
  item(name: string, kind: 'user' | 'assistant' | 'tool', parts: readonly Part[]): this {
    this.fact({ type: 'item_started', itemId: itemId(name), kind });
    for (const part of parts) {
      this.#drafts.push({
        ...{ turn: 1, attempt: 1 },
        delta: { type: 'commit_part', partId: this.#newPart(), itemId: itemId(name), part },
      });
    }
    return this.fact({ type: 'item_finished', itemId: itemId(name), stop: { reason: 'stop' } });
  }

  /** Adds an item whose last part is still streaming. */
  openItem(name: string, kind: 'assistant' | 'tool', start: PartStart, chunk: string): this {
    this.fact({ type: 'item_started', itemId: itemId(name), kind });
    const id = this.#newPart();
    this.#drafts.push({
      ...{ turn: 1, attempt: 1 },
      delta: { type: 'begin_part', partId: id, itemId: itemId(name), ...start },
    });
    this.#drafts.push({
      ...{ turn: 1, attempt: 1 },
      delta: { type: 'append_text', partId: id, at: 0, chunk },
    });
    return this;
  }

  source(): ChatSource {
    const folder = new Folder(sessionId('gallery'));
    const facts = new FactIndex();
    for (const [at, draft] of this.#drafts.entries()) {
      const [offset, time] = [at + 1, startMs + 120 * at];
      const record = { v: recordVersion, offset, time, producer: 'gallery', ...draft } as const;
      const before: FoldState = folder.state;
      folder.add(record);
      for (const event of agentEvents(before, record, folder.state)) facts.add(event);
    }
    const blob = () => Promise.reject(new Error('The gallery has no files'));
    const source = stateSource({ state: folder.state, facts, blob });
    const items = new Map(source.itemIds.map((id) => [id, source.item(id)]));
    const parts = new Map(
      [...items.values()].flatMap((item) => item?.partIds ?? []).map((id) => [id, source.part(id)]),
    );
    // Components expect the same object each time they request an id.
    return { ...source, item: (id) => items.get(id), part: (id) => parts.get(id) };
  }

  #newPart(): PartId {
    this.#parts += 1;
    return partId(1, 1, `part${this.#parts}`);
  }
}

const text = (words: string): Part => ({ kind: 'text', text: words });
const call = (id: string, name: string, input: Parameters<typeof toolCallPart>[2]) =>
  toolCallPart(toolCallId(id), name, input);
const result = (id: string, name: string, words: string, isError = false): Part => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId(id), name, text: words, isError },
});
const started = (id: string, name: string): Fact => ({
  ...{ type: 'tool_execution_started', toolCallId: toolCallId(id), name, summary: name },
  executionId: executionId(`run of ${id}`),
});
const finished = (id: string, name: string, isError = false): Fact => ({
  ...{ type: 'tool_execution_finished', toolCallId: toolCallId(id), name, isError },
  ...{ executionId: executionId(`run of ${id}`), outcome: 'completed' },
});

const answer = `The order **4411** can be refunded, because it shipped *late*.

| order | state | amount |
|---|---|---:|
| 4411 | shipped late | 31.50 |
| 4412 | open | 12.00 |

\`\`\`ts
const refund = await orders.refund(4411, { reason: 'late' });
\`\`\`

> Refunds of more than 100 need an approval.`;

/** A finished answer with reasoning, a call that succeeded and a call that failed. */
export const finishedSession: ChatSource = new SampleSession()
  .fact({ type: 'run_started', runId: runId('one') })
  .item('question', 'user', [text('Can the order 4411 be refunded?')])
  .item('calls', 'assistant', [
    { kind: 'reasoning', form: 'full', text: 'The order shipped late. I look it up first.' },
    text('I look the order up.'),
    call('c1', 'find_order', { order: 4411 }),
    call('c2', 'mail_customer', { to: 'ada@example.com' }),
  ])
  .fact(started('c1', 'find_order'))
  .fact(finished('c1', 'find_order'))
  .fact(started('c2', 'mail_customer'))
  .fact(finished('c2', 'mail_customer', true))
  .item('results', 'tool', [
    result('c1', 'find_order', '{"order":4411,"state":"shipped late","amount":31.5}'),
    result('c2', 'mail_customer', 'The mail server did not answer.', true),
  ])
  .item('answer', 'assistant', [text(answer)])
  .fact({
    type: 'usage_reported',
    usage: { ...noUsage, input: 5210, output: 318, cacheRead: 4100 },
  })
  .fact({ type: 'run_finished', runId: runId('one'), stop: { reason: 'stop' } })
  .source();

/** A run in progress, with a running call, a waiting call and a streaming text. */
export const runningSession: ChatSource = new SampleSession()
  .fact({ type: 'run_started', runId: runId('two') })
  .item('question', 'user', [text('Run the tests, then fix what fails.')])
  .item('calls', 'assistant', [
    call('r1', 'run', { command: 'npm test' }),
    call('r2', 'patch', { path: 'src/orders.ts' }),
  ])
  .fact(started('r1', 'run'))
  .openItem(
    'results',
    'tool',
    { kind: 'tool_result', toolCallId: toolCallId('r1'), name: 'run' },
    'test 1 of 12 … ok\ntest 2 of 12 … ok\n',
  )
  .openItem('answer', 'assistant', { kind: 'text' }, 'Two of twelve tests have passed so')
  .source();

/**
 * Runs that wait for an approval, one for each theme. The gallery shows both on one page, so their
 * tools need different names.
 */
export const askingSessions: Readonly<Record<'light' | 'dark', ChatSource>> = {
  light: askingSession('refund'),
  dark: askingSession('pay_back'),
};

function askingSession(tool: string): ChatSource {
  return new SampleSession()
    .fact({ type: 'run_started', runId: runId('three') })
    .item('question', 'user', [text('Refund the order 4411.')])
    .item('calls', 'assistant', [call('a1', tool, { order: 4411, amount: 31.5 })])
    .fact({
      ...{ type: 'approval_asked', toolCallId: toolCallId('a1'), name: tool },
      ...{ reason: 'It pays money back.', rule: `${tool}(*)` },
    })
    .source();
}

/** A run that failed. */
export const failedSession: ChatSource = new SampleSession()
  .fact({ type: 'run_started', runId: runId('four') })
  .item('question', 'user', [text('What is the weather in Bern?')])
  .fact({
    type: 'error_reported',
    error: { code: 'auth', message: 'The provider did not accept the API key. Check the key' },
  })
  .fact({
    ...{ type: 'run_finished', runId: runId('four') },
    stop: { reason: 'error', cause: 'auth' },
  })
  .source();
