import { type Item, type ItemId, itemId, sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Run } from '../contract/run.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { wordModel } from '../testing/message-cost-law.ts';
import { call } from '../testing/model-script.ts';
import { handOff } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const into = sessionId('fork');

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async ({ at }) => `${at} is there`,
});
const looks = (id: string): ScriptEntry => ({ content: { parts: [call(id, 'look', { at: id })] } });
const user = (id: string, text: string): Item => ({
  ...{ id: itemId(id), kind: 'user' as const, parts: [{ kind: 'text', text }] },
});

const textOf = ({ parts }: Item) =>
  parts.map((part) => (part.kind === 'tool_call' ? part.name : 'text' in part && part.text)).join();

/** A readable transcript: kind and text of each item. */
const asRead = (items: readonly Item[]) => items.map((item) => `${item.kind}: ${textOf(item)}`);

async function textsIn(log: Log, of = into): Promise<readonly string[]> {
  return asRead(transcript(await snapshot(log, of)));
}

async function itemsIn(log: Log, kind: Item['kind'], of = session): Promise<readonly ItemId[]> {
  const items = transcript(await snapshot(log, of));
  return items.filter((item) => item.kind === kind).map(({ id }) => id);
}

function agentOf(script: readonly ScriptEntry[], options: Partial<AgentOptions> = {}) {
  const log = options.log ?? memoryLog();
  const provider = scriptedProvider(script);
  const agent = createAgent({ tools: [look], ...options, provider, log });
  return { agent, log, provider };
}

/** Runs the fork, and checks that the origin is unchanged and both logs are valid. */
async function forked(log: Log, fork: () => Run) {
  const [before, info] = [await log.read(session), await log.info(session)];
  const run = fork();
  const result = await run.result;
  expect(await log.read(session)).toEqual(before);
  expect(await log.info(session)).toEqual(info);
  const { records } = result.error ? { records: [] } : await log.read(run.session);
  // The checker supports only logs that are not settled.
  const isSettled = records.some(({ fact }) => fact?.type === 'snapshot');
  if (!isSettled && result.stop.reason !== 'parked')
    expect(findLogProblems(run.session, records)).toEqual([]);
  return { run, ...result };
}

describe('regenerate', () => {
  test('answers again in a fork with the earlier items', async () => {
    const { agent, log, provider } = agentOf(['One.', 'Two.', 'Another two.']);
    await agent.run('First', { session }).result;
    await agent.run('Second', { session }).result;
    const { run, text, stop } = await forked(log, () => agent.regenerate(session, { into }));
    expect([run.session, text, stop.reason]).toEqual([into, 'Another two.', 'stop']);
    expect(await textsIn(log)).toEqual([
      ...['user: First', 'assistant: One.', 'user: Second', 'assistant: Another two.'],
    ]);
    expect(await textsIn(log, session)).toContain('assistant: Two.');
    const [asked, again] = [provider.requests[1], provider.requests[2]].map(
      (one) => one?.request.items,
    );
    expect(asRead(again ?? [])).toEqual(asRead(asked ?? []));
    expect((await log.info(into))?.origin?.session).toBe(session);
  });

  test('creates a new session if no target is given', async () => {
    const { agent, log } = agentOf(['One.', 'Another one.']);
    await agent.run('First', { session }).result;
    const { run, text } = await forked(log, () => agent.regenerate(session));
    expect(text).toBe('Another one.');
    expect(run.session).not.toBe(session);
    expect(await textsIn(log, run.session)).toEqual(['user: First', 'assistant: Another one.']);
  });

  test('replaces an answer of several turns as a whole', async () => {
    const { agent, log } = agentOf([looks('a'), looks('b'), 'Both.', 'Nothing.']);
    await agent.run('Look around', { session }).result;
    await forked(log, () => agent.regenerate(session, { into }));
    expect(await textsIn(log)).toEqual(['user: Look around', 'assistant: Nothing.']);
  });

  test('continues from one of its items, and keeps the turns before', async () => {
    const { agent, log } = agentOf([looks('a'), looks('b'), 'Both.', 'A alone.', 'A, again.']);
    await agent.run('Look around', { session }).result;
    const kept = ['user: Look around', 'assistant: look', 'tool: a is there'];
    const [, second] = await itemsIn(log, 'assistant');
    await forked(log, () => agent.regenerate(session, { into, item: second as ItemId }));
    expect(await textsIn(log)).toEqual([...kept, 'assistant: A alone.']);
    // A result belongs to the turn of its answer.
    const [, result] = await itemsIn(log, 'tool');
    const { run } = await forked(log, () => agent.regenerate(session, { item: result as ItemId }));
    expect(await textsIn(log, run.session)).toEqual([...kept, 'assistant: A, again.']);
  });

  test('answers input that arrived during the answer, and keeps the work before it', async () => {
    const { agent, log, provider } = agentOf([looks('a'), 'I turn left.', 'I turn, I turn.'], {
      observers: [
        ({ fact }) => {
          if (fact?.type === 'turn_started' && first.session === session) steer();
        },
      ],
    });
    let isDone = false;
    const steer = () => {
      if (!isDone) first.steer('Turn left').catch(() => {});
      isDone = true;
    };
    const first = agent.run('Go', { session });
    await first.result;
    const said = ['user: Go', 'assistant: look', 'tool: a is there', 'user: Turn left'];
    expect(await textsIn(log, session)).toEqual([...said, 'assistant: I turn left.']);
    await forked(log, () => agent.regenerate(session, { into }));
    expect(await textsIn(log)).toEqual([...said, 'assistant: I turn, I turn.']);
    provider.assertUsedUp();
  });

  test('retries an answer that failed or was aborted', async () => {
    const fault = { type: 'error', after: 3, error: 'auth' } as const;
    const { agent, log } = agentOf([
      { content: { parts: ['Half an ans'] }, fault },
      'A whole one.',
    ]);
    await agent.run('Go', { session }).result;
    const { stop } = await forked(log, () => agent.regenerate(session, { into }));
    expect(stop.reason).toBe('stop');
    expect(await textsIn(log)).toEqual(['user: Go', 'assistant: A whole one.']);
  });

  test('drops a superseded attempt with its turn', async () => {
    const fault = { type: 'error', after: 3, error: 'overloaded' } as const;
    const half = { content: { parts: ['Half an ans'] }, fault };
    const { agent, log } = agentOf([half, 'One.', 'Another one.'], { retry: { baseDelayMs: 0 } });
    await agent.run('Go', { session }).result;
    const { usage } = await forked(log, () => agent.regenerate(session, { into }));
    expect(await textsIn(log)).toEqual(['user: Go', 'assistant: Another one.']);
    const { records } = await log.read(into);
    expect(records.some(({ fact }) => fact?.type === 'attempt_superseded')).toBe(false);
    expect(usage.output).toBe(Math.ceil('Another one.'.length / 4));
  });

  test('makes the calls of a parked session again, and leaves its pending calls alone', async () => {
    const { agent, log } = agentOf([looks('a'), looks('b')], {
      ...{ approve: () => 'ask', whileAsking: 'park' },
    });
    await agent.run('Look around', { session }).result;
    const { stop } = await forked(log, () => agent.regenerate(session, { into }));
    expect(stop.reason).toBe('parked');
    expect((await log.info(session))?.hasWork).toBe(true);
  });

  test('works on a settled session and on a fork', async () => {
    const { agent, log } = agentOf([looks('a'), 'One.', 'Two.', 'Three.']);
    await agent.run('Go', { session }).result;
    for (const turn of [1, 2]) expect(await log.settle(session, turn)).toBe(true);
    const [, second] = await itemsIn(log, 'assistant');
    await forked(log, () => agent.regenerate(session, { into, item: second as ItemId }));
    const kept = ['user: Go', 'assistant: look', 'tool: a is there'];
    expect(await textsIn(log)).toEqual([...kept, 'assistant: Two.']);
    const again = agent.regenerate(into);
    await again.result;
    expect(await textsIn(log, again.session)).toEqual(['user: Go', 'assistant: Three.']);
  });

  test('uses the agent that had the session at that time', async () => {
    const helper = agentOf(['From the helper.'], { name: 'helper' });
    const tools = [handOff({ to: helper.agent, description: 'To the helper' })];
    const hands = { content: { parts: [call('t', 'transfer_to_helper', {})] } };
    const { agent, log } = agentOf([hands, 'From me.'], { name: 'front', tools });
    expect((await agent.run('Go', { session }).result).text).toBe('From the helper.');
    const { text } = await forked(log, () => agent.regenerate(session, { into }));
    expect(text).toBe('From me.');
  });
});

describe('edit', () => {
  test('answers other input, in a fork with the earlier items', async () => {
    const { agent, log } = agentOf(['One.', 'Two.', 'Three.', 'Another two.']);
    for (const text of ['First', 'Second', 'Third']) await agent.run(text, { session }).result;
    const [, second] = await itemsIn(log, 'user');
    const { text } = await forked(log, () =>
      agent.edit(session, second as ItemId, 'Not the second', { into }),
    );
    expect(text).toBe('Another two.');
    // The fork does not contain the run that the second message started.
    const { records } = await log.read(session);
    const runs = records.filter(({ fact }) => fact?.type === 'run_finished');
    expect((await log.info(into))?.origin?.through).toBe(runs[0]?.offset);
    expect(await textsIn(log)).toEqual([
      ...['user: First', 'assistant: One.', 'user: Not the second', 'assistant: Another two.'],
    ]);
  });

  test('of the first input starts from the beginning', async () => {
    const { agent, log, provider } = agentOf(['One.', 'Another one.']);
    await agent.run('First', { session }).result;
    const [first] = await itemsIn(log, 'user');
    const { run } = await forked(log, () => agent.edit(session, first as ItemId, 'Not the first'));
    expect(await textsIn(log, run.session)).toEqual([
      ...['user: Not the first', 'assistant: Another one.'],
    ]);
    expect(asRead(provider.requests[1]?.request.items ?? [])).toEqual(['user: Not the first']);
    expect((await log.info(run.session))?.origin).toEqual({ session, through: 0 });
  });

  test('accepts the same inputs as run', async () => {
    const { agent, log } = agentOf(['One.', 'Another one.']);
    await agent.run(user('u1', 'First'), { session }).result;
    const said = [user('u2', 'Not the first'), user('u3', 'and more')];
    await forked(log, () => agent.edit(session, itemId('u1'), said, { into }));
    expect(await textsIn(log)).toEqual([
      ...['user: Not the first', 'user: and more', 'assistant: Another one.'],
    ]);
  });

  test('may reuse the id of the replaced item', async () => {
    const { agent, log } = agentOf(['One.', 'Another one.']);
    await agent.run(user('u1', 'First'), { session }).result;
    await forked(log, () =>
      agent.edit(session, itemId('u1'), user('u1', 'Not the first'), { into }),
    );
    expect(await textsIn(log)).toEqual(['user: Not the first', 'assistant: Another one.']);
  });

  test('of a queued message does not answer the original too', async () => {
    const { agent, log } = agentOf(['One.', 'Another one.']);
    const parts = [{ kind: 'text', text: 'First' }];
    const message = { type: 'message', items: [{ id: 'u1', kind: 'user', parts }] };
    await (await log.open(session)).release();
    await log.submit(session, message, 'k');
    await agent.resume(session).result;
    expect(await textsIn(log, session)).toEqual(['user: First', 'assistant: One.']);
    await forked(log, () => agent.edit(session, itemId('u1'), 'Not the first', { into }));
    expect(await textsIn(log)).toEqual(['user: Not the first', 'assistant: Another one.']);
  });

  test('of a follow-up is answered after the answer before it', async () => {
    const { agent, log, provider } = agentOf(['One.', 'Two.', 'Another two.']);
    const run = agent.run('First', { session });
    await run.followUp('Second');
    await run.result;
    const [, second] = await itemsIn(log, 'user');
    await forked(log, () => agent.edit(session, second as ItemId, 'Not the second', { into }));
    expect(await textsIn(log)).toEqual([
      ...['user: First', 'assistant: One.', 'user: Not the second', 'assistant: Another two.'],
    ]);
    provider.assertUsedUp();
  });

  // Regression: the fork has an open run, which was driven to its end before the new input, with
  // one request too many.
  test('of steering input replaces it at its place, with no request before', async () => {
    const { agent, log } = agentOf([looks('a'), 'I turn left.', 'I turn right.', 'Once more.'], {
      observers: [
        ({ fact }) => {
          if (fact?.type === 'turn_started' && first.session === session) steer();
        },
      ],
    });
    let isDone = false;
    const steer = () => {
      if (!isDone) first.steer(user('left', 'Turn left')).catch(() => {});
      isDone = true;
    };
    const first = agent.run('Go', { session });
    await first.result;
    await forked(log, () => agent.edit(session, itemId('left'), 'Turn right', { into }));
    expect(await textsIn(log)).toEqual([
      ...['user: Go', 'assistant: look', 'tool: a is there', 'user: Turn right'],
      'assistant: I turn right.',
    ]);
  });

  // Regression: earlier items of the same input were answered alone first.
  test('of the second of two joint inputs is answered together with the first', async () => {
    const { agent, log } = agentOf(['Both.', 'Both of these.', 'Once more.']);
    await agent.run([user('u1', 'First'), user('u2', 'Second')], { session }).result;
    await forked(log, () => agent.edit(session, itemId('u2'), 'Not the second', { into }));
    expect(await textsIn(log)).toEqual([
      ...['user: First', 'user: Not the second', 'assistant: Both of these.'],
    ]);
  });
});

describe('what cannot be forked', () => {
  test.each(['regenerate', 'edit'] as const)('%s: an unknown item', async (how) => {
    const { agent, log, provider } = agentOf(['One.', 'No.']);
    await agent.run('First', { session }).result;
    const item = itemId('nobody');
    const { stop, error } = await forked(log, () =>
      how === 'edit'
        ? agent.edit(session, item, 'Else', { into })
        : agent.regenerate(session, { item, into }),
    );
    expect(stop).toEqual({ reason: 'error', cause: 'no_such_item' });
    expect(error?.message).toContain('item nobody');
    expect([await log.info(into), provider.requests.length]).toEqual([undefined, 1]);
  });

  test('a session without an answer', async () => {
    const { agent, log } = agentOf(['No.']);
    await agent.run('First', { session, signal: AbortSignal.abort() }).result;
    const { stop } = await forked(log, () => agent.regenerate(session, { into }));
    expect(stop).toEqual({ reason: 'error', cause: 'no_such_item' });
  });

  test('an unknown session', async () => {
    const { agent, log } = agentOf(['No.']);
    const { stop } = await agent.regenerate(session, { into }).result;
    expect(stop).toEqual({ reason: 'error', cause: 'no_session' });
    expect(await log.info(into)).toBeUndefined();
  });

  test('into an existing session, which stays unchanged', async () => {
    const { agent, log } = agentOf(['One.', 'Other.', 'No.']);
    await agent.run('First', { session }).result;
    await agent.run('Else', { session: into }).result;
    const { stop } = await forked(log, () => agent.regenerate(session, { into }));
    expect(stop).toEqual({ reason: 'error', cause: 'session_exists' });
    expect(await textsIn(log)).toEqual(['user: Else', 'assistant: Other.']);
  });
});

test('a fork can run while the origin runs', async () => {
  const waiting = Promise.withResolvers<void>();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: () => waiting.promise.then(() => 'done'),
  });
  const begun = Promise.withResolvers<void>();
  const { agent, log } = agentOf(
    ['One.', { content: { parts: [call('w', 'wait', {})] } }, 'Another two.', 'Two.'],
    {
      tools: [wait],
      observers: [({ fact }) => fact?.type === 'tool_execution_started' && begun.resolve()],
    },
  );
  await agent.run('First', { session }).result;
  const origin = agent.run('Second', { session });
  await begun.promise;
  expect((await agent.regenerate(session, { into }).result).text).toBe('Another two.');
  waiting.resolve();
  expect((await origin.result).text).toBe('Two.');
  expect(findLogProblems(session, (await log.read(session)).records)).toEqual([]);
});

test('a fork can be aborted before its first request', async () => {
  const { agent, log, provider } = agentOf(['One.', 'No.']);
  await agent.run('First', { session }).result;
  const signal = AbortSignal.abort();
  const { stop } = await forked(log, () => agent.regenerate(session, { into, signal }));
  expect([stop.reason, provider.requests.length]).toEqual(['aborted', 1]);
});

/** Returns a log that counts the records that `read` returns for the session. */
function countingReads() {
  let records = 0;
  const log = memoryLog();
  const read = log.read.bind(log);
  log.read = async (...args) => {
    const batch = await read(...args);
    if (args[0] === session) records += batch.records.length;
    return batch;
  };
  const take = () => {
    const taken = records;
    records = 0;
    return taken;
  };
  return { log, take };
}

test('21.F law 18: the point of a fork is found as cheaply in a long session', async () => {
  const { log, take } = countingReads();
  const agent = createAgent({ log, provider: wordModel });
  const extend = async (runs: number) => {
    for (let run = 0; run < runs; run++) await agent.run('And now?', { session }).result;
  };
  const costs = async () => {
    const [last = ''] = (await itemsIn(log, 'user')).slice(-1);
    take();
    await agent.regenerate(session).result;
    const regenerated = take();
    await agent.edit(session, last, 'And then?').result;
    return { regenerated, edited: take() };
  };
  await extend(30);
  const short = await costs();
  await extend(90);
  expect(await costs()).toEqual(short);
});
