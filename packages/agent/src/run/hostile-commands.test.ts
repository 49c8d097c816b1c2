import { setImmediate } from 'node:timers/promises';
import { type Item, itemId, type JsonObject, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { watchRejections } from '../../../providers/src/testing/watch-rejections.ts';
import type { Run } from '../contract/run.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  problemsLeftIn,
  resultTexts,
  session,
  type TestAgentOptions,
  textsOf,
  tool,
  types,
} from '../testing/test-agent.ts';
import { withAppends, withDelay } from '../testing/test-doubles.ts';
import { VirtualClock } from '../testing/virtual-time.ts';

watchRejections();

const slowly = { pieces: 'character', pauseMs: 20 } as const;
const said = (id: string, text: string): Item => ({
  ...{ id: itemId(id), kind: 'user' },
  parts: [{ kind: 'text', text }],
});
const saidJson = (id: string, text: string) => ({ ...said(id, text) }) as unknown as JsonObject;
const look = tool('look', async () => 'seen');
const parking: TestAgentOptions = { tools: [look], approve: () => 'ask', whileAsking: 'park' };

/** A run that receives a command from another process while it streams, and a second run. */
async function toldFromElsewhere(command: JsonObject) {
  const stage = createTestAgent([{ ...answer('Hello'), ...slowly }, 'Two.', 'Three.']);
  const { agent, log, provider, end } = stage;
  const run = agent.run('Go', { session });
  await stage.until('append_text');
  await log.submit(session, command, 'k');
  const result = await end(run);
  const left = await problemsLeftIn(log);
  const asked = provider.requests.length;
  const next = await end(agent.run('And now?', { session }));
  return { ...stage, result, left, asked, next };
}

describe('a message', () => {
  test('that arrives while the run checks for messages is answered by it', async () => {
    let isOver = false;
    let last: Promise<unknown> | undefined;
    // Like a disk: the first request is answered first, the other a little later.
    const log = withAppends(memoryLog(), async (append, drafts) => {
      isOver ||= drafts.some(({ fact }) => fact?.type === 'run_finished');
      if (last !== undefined) await last.then(() => setImmediate());
      const batch = await append();
      if (isOver && drafts.length === 0 && last === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>();
        last = promise;
        await run.followUp('And?').finally(resolve);
      }
      return batch;
    });
    const { agent, end, provider } = createTestAgent(['One.', 'Two.'], { log });
    const run = agent.run('Go', { session });
    expect((await end(run)).text).toBe('Two.');
    expect(provider.requests).toHaveLength(2);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('may contain an image, whose bytes arrive', async () => {
    const source = { type: 'bytes', bytes: new Uint8Array([1, 2, 255]) } as const;
    const picture = { kind: 'media', mimeType: 'image/png', source } as const;
    const { agent, end, until, provider, log } = createTestAgent([
      { ...answer('Hello'), ...slowly },
      ...['I see.', 'Yes.'],
    ]);
    const run = agent.run('Go', { session });
    await until('append_text');
    await run.steer({ ...said('u9', 'Look'), parts: [{ kind: 'text', text: 'Look' }, picture] });
    expect((await end(run)).text).toBe('I see.');
    expect(provider.requests[1]?.request.items.at(-1)?.parts[1]).toEqual(picture);
    expect((await end(agent.run('Really?', { session }))).text).toBe('Yes.');
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('that is invalid is rejected, and the run continues', async () => {
    const { agent, end, until, log } = createTestAgent([{ ...answer('Hello'), ...slowly }]);
    const run = agent.run('Go', { session });
    await until('append_text');
    const part = { kind: 'media', mimeType: 'image/png' };
    const odd = [null, {}, { id: 'u9', kind: 'user' }, { ...said('u9', ''), kind: 'nobody' }];
    for (const item of [...odd, { ...said('u9', ''), parts: [part] }]) {
      await expect(run.steer(item as never)).rejects.toThrow();
      await expect(run.followUp([item] as never)).rejects.toThrow();
    }
    expect((await end(run)).text).toBe('Hello');
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('with an id that the session already has is still added', async () => {
    const { agent, end, until, provider, log } = createTestAgent([
      { ...answer('Hello'), ...slowly },
      'Ok.',
    ]);
    const run = agent.run(said('u1', 'Go'), { session });
    await until('append_text');
    await run.steer([said('u1', 'Left'), said('u1', 'Then right')]);
    expect((await end(run)).text).toBe('Ok.');
    const sent = provider.requests[1]?.request.items.flatMap(textsOf);
    expect(sent).toEqual(['Go', 'Hello', 'Left', 'Then right']);
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});

describe('a command from another process', () => {
  test.each<[string, JsonObject]>([
    ['a message of nothing', { type: 'message', when: 'steer', items: [null] }],
    ['a message of half an item', { type: 'message', when: 'steer', items: [{}] }],
    ['a message without items', { type: 'message' }],
    ['a decision on no call', { type: 'approve' }],
    ['a decision on what is no id', { type: 'deny', toolCallId: 5 }],
  ])('that cannot be decoded is dropped: %s', async (_what, command) => {
    const { result, left, asked, next, diagnostics } = await toldFromElsewhere(command);
    expect([result.text, left, asked]).toEqual(['Hello', [], 1]);
    expect([next.stop.reason, diagnostics.length]).toEqual(['stop', 1]);
  });

  test.each([{}, { when: 'later' }])(
    'with a message is a follow-up unless it steers: %o',
    async (when) => {
      const items = [saidJson('u7', 'And?')];
      const { result, left, asked } = await toldFromElsewhere({ type: 'message', ...when, items });
      expect([result.text, left, asked]).toEqual(['Two.', [], 2]);
    },
  );

  test('that aborts with a reason that is not text still aborts', async () => {
    const { result, left, next } = await toldFromElsewhere({ type: 'abort', reason: 5 });
    expect([result.stop.reason, left, next.text]).toEqual(['aborted', [], 'Two.']);
  });

  test('that denies with a reason that is not text still denies', async () => {
    const { agent, end, log, provider } = createTestAgent(
      [answer(call('c1', 'look', {})), 'Ok.'],
      parking,
    );
    await end(agent.run('Go', { session }));
    await log.submit(session, { type: 'deny', toolCallId: 'c1', reason: 5, by: 7 }, 'k');
    expect((await end(agent.resume(session))).text).toBe('Ok.');
    expect(resultTexts(provider.requests[1]?.request.items ?? [])).toEqual(['It was not allowed.']);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('that cannot be decoded is dropped, even if onDiagnostic throws', async () => {
    const onDiagnostic = () => expect.fail('no');
    const { agent, end, log } = createTestAgent(['Hello'], { onDiagnostic });
    await log.submit(session, { type: 'message', items: [null] }, 'k');
    expect((await end(agent.run('Go', { session }))).text).toBe('Hello');
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});

describe('an abort', () => {
  test('that is submitted three times is on the log once, with the first reason', async () => {
    const { agent, end, until, records } = createTestAgent([{ ...answer('Hello'), ...slowly }]);
    const run = agent.run('Go');
    await until('append_text');
    await Promise.all(['one', 'two', 'three'].map((reason) => run.abort(reason)));
    expect((await end(run)).stop.reason).toBe('aborted');
    const aborts = records.flatMap(({ fact }) => (fact?.type === 'aborted' ? fact.reason : []));
    expect(aborts).toEqual(['one']);
  });

  test('of a run that never started or has ended is no error', async () => {
    const { agent, end, log } = createTestAgent(['Hello']);
    const driver = await log.open(session);
    const held = agent.run('Go', { session });
    await held.abort();
    expect((await end(held)).stop).toEqual({ reason: 'error', cause: 'held' });
    await held.abort();
    await driver.release();
    expect((await end(agent.run('Go', { session }))).text).toBe('Hello');
  });

  test('by a signal works, whatever the signal’s reason is', async () => {
    const reason: unknown = Object.create(null);
    const { agent, end, until, provider } = createTestAgent([{ ...answer('Hello'), ...slowly }]);
    const before = await end(agent.run('Go', { signal: AbortSignal.abort(reason) }));
    expect([before.stop.reason, provider.requests.length]).toEqual(['aborted', 0]);
    const controller = new AbortController();
    const run = agent.run('Go', { signal: controller.signal });
    await until('append_text');
    controller.abort(reason);
    expect((await end(run)).stop.reason).toBe('aborted');
  });

  test('of a parked session that is resumed ends the open turn', async () => {
    const { agent, end, log, records } = createTestAgent([answer(call('c1', 'look', {}))], parking);
    await end(agent.run('Go', { session }));
    const { stop } = await end(agent.resume(session, { signal: AbortSignal.abort('no') }));
    expect(stop.reason).toBe('aborted');
    const facts = types(records);
    expect(facts.lastIndexOf('run_started')).toBeLessThan(facts.indexOf('aborted'));
    expect(facts.filter((type) => type === 'command_consumed')).toHaveLength(1);
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});

describe('a command at the end of a run', () => {
  /** Another process submits a command right before the end of the run is stored. */
  async function justBeforeTheEnd(command: JsonObject) {
    const clock = new VirtualClock();
    const inner = memoryLog({ clock });
    let isDone = false;
    const log = withDelay(inner, async (drafts) => {
      if (isDone || !drafts.some(({ fact }) => fact?.type === 'run_finished')) return;
      isDone = true;
      await inner.submit(session, command, 'k');
    });
    const stage = createTestAgent(['One.', 'Two.'], { clock, log });
    const result = await stage.end(stage.agent.run('Go', { session }));
    return { ...stage, result, left: await problemsLeftIn(inner) };
  }

  test('from another process is answered', async () => {
    const command = { type: 'message', when: 'follow_up', items: [saidJson('u9', 'And?')] };
    const { result, left, provider } = await justBeforeTheEnd(command);
    expect([result.text, left, provider.requests.length]).toEqual(['Two.', [], 2]);
  });

  test('that aborts comes too late, and aborts nothing else', async () => {
    const { agent, end, result, left } = await justBeforeTheEnd({ type: 'abort' });
    expect([result.stop.reason, left]).toEqual(['stop', []]);
    expect((await end(agent.run('And now?', { session }))).text).toBe('Two.');
  });

  test.each(['steer', 'followUp'] as const)(
    'or at any other record is answered or rejected (%s)',
    async (how) => {
      let at = 1;
      for (let isReached = true; isReached; at++) {
        isReached = false;
        let run: Run | undefined;
        let accepted: Promise<boolean> | undefined;
        const observer = ({ offset }: { readonly offset: number }) => {
          if (offset !== at) return;
          isReached = true;
          accepted = run?.[how]('More').then(
            () => true,
            () => false,
          );
        };
        const stage = createTestAgent(['One.', 'Two.'], { observers: [observer] });
        run = stage.agent.run('Go', { session });
        await stage.end(run);
        const sent = stage.provider.requests.at(-1)?.request.items.flatMap(textsOf);
        expect(sent?.includes('More'), `at ${at}`).toBe((await accepted) === true);
        expect(await problemsLeftIn(stage.log), `at ${at}`).toEqual([]);
      }
      expect(at).toBeGreaterThan(10);
    },
  );
});

describe('a resumed session', () => {
  test('continues with results that a limit left unanswered', async () => {
    const script = [answer(call('c1', 'look', {})), 'It was there.'];
    const first = createTestAgent(script, { tools: [look], limits: { maxTurns: 1 } });
    const { log, clock } = first;
    expect((await first.end(first.agent.run('Go', { session }))).stop.reason).toBe('limit');
    const second = createTestAgent(script.slice(1), { tools: [look], log, clock });
    expect((await second.end(second.agent.resume(session))).text).toBe('It was there.');
  });

  test('is retried after an error, and fails if it does not exist', async () => {
    const fault = { type: 'error', after: 0, error: 'auth' } as const;
    const { agent, end, log } = createTestAgent([{ ...answer('No'), fault }, 'Yes.']);
    expect((await end(agent.run('Go', { session }))).stop.reason).toBe('error');
    expect((await end(agent.resume(session))).text).toBe('Yes.');
    const missing = sessionId('missing');
    const { stop } = await end(agent.resume(missing));
    expect(stop).toEqual({ reason: 'error', cause: 'no_such_session' });
    expect(await log.info(missing)).toBeUndefined();
  });
});
