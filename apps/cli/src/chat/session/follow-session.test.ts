import { createAgent } from '@millrace/agent';
import { type AgentEvent, itemId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventsOfSession } from '../../testing/folded-chat.ts';
import { followSession } from './follow-session.ts';

const session = sessionId('s');
let log: Log;
beforeEach(() => {
  log = memoryLog();
});
afterEach(() => log.close());

/** Returns the events up to the matching one, and stops following. */
async function eventsUntil(isLast: (event: AgentEvent) => boolean): Promise<readonly AgentEvent[]> {
  const stop = new AbortController();
  const received: AgentEvent[] = [];
  await followSession({
    ...{ log, session, signal: stop.signal },
    onEvents: ({ events }) => {
      received.push(...events);
      if (events.some(isLast)) stop.abort();
    },
  });
  return received;
}

const userItem = (text: string) =>
  ({ id: itemId(text), kind: 'user', parts: [{ kind: 'text', text }] }) as const;

test('emits each event of a session once, from its start and then live', async () => {
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.', 'Three.']), log });
  await agent.run('Go', { session }).result;
  let runs = 0;
  const received = eventsUntil(({ type }) => type === 'run_finished' && ++runs === 3);
  await agent.run('On', { session }).result;
  await agent.run('On', { session }).result;
  const whole = await eventsOfSession(log, session);
  const names = (events: readonly AgentEvent[]) =>
    events
      .filter(({ type }) => !type.endsWith('_delta'))
      .map(({ type, offset }) => `${offset} ${type}`);
  expect(names(await received)).toEqual(names(whole));
});

test('emits events that refer to old content', async () => {
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log });
  await agent.run(userItem('first'), { session }).result;
  await agent.run(userItem('second'), { session }).result;
  let isCaughtUp = false;
  const redacted = eventsUntil((event) => {
    if (event.type === 'item_finished' && event.itemId === 'second') isCaughtUp = true;
    return event.type === 'item_redacted';
  });
  while (!isCaughtUp) await new Promise((resolve) => setImmediate(resolve));
  await log.redact(session, itemId('first'), 'it was wrong');
  expect((await redacted).at(-1)).toMatchObject({ type: 'item_redacted', itemId: 'first' });
});
