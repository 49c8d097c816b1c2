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
async function toldUntil(isLast: (event: AgentEvent) => boolean): Promise<readonly AgentEvent[]> {
  const leave = new AbortController();
  const told: AgentEvent[] = [];
  await followSession({
    ...{ log, session, signal: leave.signal },
    onEvents: (events) => {
      told.push(...events);
      if (events.some(isLast)) leave.abort();
    },
  });
  return told;
}

const said = (text: string) =>
  ({ id: itemId(text), kind: 'user', parts: [{ kind: 'text', text }] }) as const;

test('a session is told from its beginning, and on with what comes, each event once', async () => {
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.', 'Three.']), log });
  await agent.run('Go', { session }).result;
  let runs = 0;
  const told = toldUntil(({ type }) => type === 'run_finished' && ++runs === 3);
  await agent.run('On', { session }).result;
  await agent.run('On', { session }).result;
  const whole = await eventsOfSession(log, session);
  const names = (events: readonly AgentEvent[]) =>
    events
      .filter(({ type }) => !type.endsWith('_delta'))
      .map(({ type, offset }) => `${offset} ${type}`);
  expect(names(await told)).toEqual(names(whole));
});

test('what speaks of something that was said long ago is told as well', async () => {
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log });
  await agent.run(said('first'), { session }).result;
  await agent.run(said('second'), { session }).result;
  let isCaughtUp = false;
  const redacted = toldUntil((event) => {
    if (event.type === 'item_finished' && event.itemId === 'second') isCaughtUp = true;
    return event.type === 'item_redacted';
  });
  while (!isCaughtUp) await new Promise((resolve) => setImmediate(resolve));
  await log.redact(session, itemId('first'), 'it was wrong');
  expect((await redacted).at(-1)).toMatchObject({ type: 'item_redacted', itemId: 'first' });
});
