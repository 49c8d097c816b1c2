import type { AgentEvent } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { eventsOf, textOfEvents } from '../testing/read-log.ts';
import { answer, createTestAgent, session } from '../testing/test-agent.ts';
import { flushPendingWork } from '../testing/virtual-time.ts';

const countOf = (events: readonly AgentEvent[], type: AgentEvent['type']) =>
  events.filter((event) => event.type === type).length;

describe('the events of a run', () => {
  test('contain only its own for a reader that starts after later runs', async () => {
    const { agent, end } = createTestAgent(['One.', 'Two.', 'Three.'], {}, { pieces: 'character' });
    const first = agent.run('First', { session });
    await end(first);
    const alone = await eventsOf(first);
    const second = agent.run('Second', { session });
    await end(second);
    await end(agent.run('Third', { session }));
    expect(textOfEvents(await eventsOf(first))).toBe('One.');
    expect(countOf(await eventsOf(first), 'run_finished')).toBe(1);
    expect((await eventsOf(first)).at(-1)).toEqual(alone.at(-1));
    expect(textOfEvents(await eventsOf(second))).toBe('Two.');
    expect(countOf(await eventsOf(second), 'run_started')).toBe(1);
  });

  test('contain only its own for a reader that pauses until a later run is over', async () => {
    const { agent, end } = createTestAgent(['One.', 'Two.']);
    const first = agent.run('First', { session });
    const reader = first.events[Symbol.asyncIterator]();
    const events: AgentEvent[] = [];
    const take = async () => {
      const { done, value } = await reader.next();
      if (!done) events.push(value);
      return !done;
    };
    await take();
    await end(first);
    await end(agent.run('Second', { session }));
    while (await take());
    expect([textOfEvents(events), countOf(events, 'run_finished')]).toEqual(['One.', 1]);
  });

  test('contain only its own for a reader that reads during a later run', async () => {
    const script = ['One.', { ...answer('Two.'), pieces: 'character', pauseMs: 50 } as const];
    const { agent, end, until } = createTestAgent(script);
    const first = agent.run('First', { session });
    await end(first);
    const second = agent.run('Second', { session });
    await until('append_text', 2);
    expect(textOfEvents(await eventsOf(first))).toBe('One.');
    await end(second);
  });

  test('end with the input that arrived while it ended, and nothing after that', async () => {
    const { agent, end, until } = createTestAgent([
      { ...answer('One.'), pauseMs: 50 },
      'Two.',
      'Three.',
    ]);
    const run = agent.run('First', { session });
    const live = eventsOf(run);
    await until('append_text');
    await run.followUp('More');
    await end(run);
    await end(agent.run('Third', { session }));
    for (const events of [await live, await eventsOf(run)]) {
      expect(textOfEvents(events)).toBe('One.Two.');
      expect(events.at(-1)?.type).toBe('run_finished');
    }
  });

  test('are empty if the run could not start, and block nothing', async () => {
    const { agent, end, log } = createTestAgent(['One.']);
    const driver = await log.open(session);
    const held = agent.run('First', { session });
    const reading = eventsOf(held);
    await end(held);
    await flushPendingWork();
    await driver.release();
    expect([await reading, await eventsOf(held)]).toEqual([[], []]);
  });
});
