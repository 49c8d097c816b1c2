import { createAgent, subAgent } from '@millrace/agent';
import {
  DeltaWriter,
  type DraftRecord,
  type Ids,
  itemId,
  randomIds,
  type SessionId,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { userItem } from '../store/session-summaries.ts';
import { toolCall } from './run-print.ts';

interface FinishedSessionOptions {
  readonly cwd?: string;
  readonly answer?: string;
}

/** Creates a session with one message and its answer. */
export async function finishedSession(
  log: Log,
  name: string,
  message: string,
  { cwd, answer = 'It turns.' }: FinishedSessionOptions = {},
): Promise<SessionId> {
  const agent = createAgent({ provider: scriptedProvider([answer]), log });
  const input = cwd === undefined ? message : userItem([message], { cwd });
  const { session } = await agent.run(input, { session: sessionId(name) }).result;
  return session;
}

/** Creates a session in which a sub-agent did the work. Returns both session ids. */
export async function withSubAgent(
  log: Log,
  name: string,
  cwd: string,
): Promise<{ readonly session: SessionId; readonly child: SessionId }> {
  const scout = createAgent({ provider: scriptedProvider(['It does.']), log, name: 'scout' });
  const tool = subAgent({ name: 'scout', description: 'Looks', agent: scout });
  const asks = { content: { parts: [toolCall('c1', 'scout', { task: 'Does it turn?' })] } };
  const agent = createAgent({ provider: scriptedProvider([asks, 'Yes.']), log, tools: [tool] });
  const { session } = await agent.run(userItem(['Ask'], { cwd }), { session: sessionId(name) })
    .result;
  const { records } = await log.read(session);
  const [child] = records.flatMap(({ fact }) =>
    fact?.type === 'tool_execution_started' ? (fact.child ?? []) : [],
  );
  if (child === undefined) throw new Error('The sub-agent was not asked');
  return { session, child };
}

/**
 * Appends `count` items to a session, alternating between user and assistant. The messages of the user name the
 * folder `cwd`, as those of the terminal do.
 */
export async function fillSession(
  log: Log,
  session: SessionId,
  count: number,
  cwd = '/folder',
): Promise<void> {
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  const driver = await log.open(session);
  const drafts = Array.from({ length: count }, (_, index) => itemDrafts(index, ids, cwd));
  await driver.append(drafts.flat());
  await driver.release();
}

function itemDrafts(index: number, ids: Ids, cwd: string): readonly DraftRecord[] {
  const at = { turn: 0, attempt: 0 };
  const id = itemId(`filled-${index}`);
  const writer = new DeltaWriter({ itemId: id, ...at, ids });
  writer.whole({ kind: 'text', text: `Message number ${index}.` });
  const kind = index % 2 === 0 ? 'user' : 'assistant';
  return [
    {
      ...at,
      fact: {
        type: 'item_started',
        itemId: id,
        kind,
        ...(kind === 'user' && { metadata: { cwd } }),
      },
    },
    ...writer.take().map((delta): DraftRecord => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId: id } },
  ];
}

/** Returns all values of an async iterable. */
export async function collect<T>(source: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}
