import { liveTranscript, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { createToken } from '@millrace/server';
import { describe, expect, test } from 'vitest';
import type { LiveItem, TaskHandle, TaskSnapshot } from '../contract/task-handle.ts';
import { echo, listener, looks, looping, stalls } from '../testing/agents.ts';
import { eventually } from '../testing/eventually.ts';
import { serving } from '../testing/serving.ts';

const textOf = ({ parts }: Pick<LiveItem, 'parts'>) =>
  parts.map((part) => ('text' in part ? part.text : part.kind)).join('|');
const textsOf = (task: TaskHandle) => task.transcript.map(textOf);
const says =
  (text: string) =>
  ({ items, isRunning }: TaskSnapshot) =>
    !isRunning && items.some((item) => textOf(item) === text);

describe('a task of an agent loop', () => {
  test('shows what its log has, from the message to the end of the run', async () => {
    const log = memoryLog();
    const { client } = await serving(
      [looping(log, [{ content: { parts: ['Let me see', looks] } }, 'No.'])],
      { log },
    );
    const task = await client().createTask({ agent: 'looper', name: 'wheel' });
    await task.send('Is it there?');
    const { task: row, connection } = await task.until(says('No.'));
    expect(textsOf(task)).toEqual(['Is it there?', 'Let me see|tool_call', 'Nothing there', 'No.']);
    expect([row?.name, connection.state]).toEqual(['wheel', 'live']);
    const state = await snapshot(log, sessionId(task.id));
    expect(task.transcript).toEqual(liveTranscript(state));
    expect(task.transcript).toEqual(transcript(state));
  });

  test('waits for an approval, and goes on with other input', async () => {
    const log = memoryLog();
    const agent = looping(log, [{ content: { parts: [looks] } }, 'No.'], {
      approve: () => ({ decision: 'ask', reason: 'It is dark' }),
    });
    const { client } = await serving([agent], { log });
    const task = await client().createTask({ agent: 'looper' });
    await task.send('Is it there?');
    const asked = await task.until(({ pendingApprovals }) => pendingApprovals.length > 0);
    expect(asked.pendingApprovals).toMatchObject([
      { toolCallId: 'c1', name: 'look', turn: 1, reason: 'It is dark' },
    ]);
    // A client that connects later also sees the pending approval.
    const other = client().task(task.id);
    await other.until(({ pendingApprovals }) => pendingApprovals.length > 0);
    await other.approve('c1', { by: 'Ada', input: { where: 'behind it' } });
    const { pendingApprovals } = await task.until(says('No.'));
    expect([pendingApprovals, textsOf(task)[2]]).toEqual([[], 'Nothing behind it']);
    // The server refuses a late answer, and the error contains the decision.
    await expect(task.deny('c1')).rejects.toMatchObject({
      ...{ code: 'conflict', status: 409, details: { decision: 'allow', by: 'Ada' } },
      message: expect.stringContaining('it was allowed by Ada'),
    });
  });

  test('is denied something, with a reason', async () => {
    const log = memoryLog();
    const agent = looping(log, [{ content: { parts: [looks] } }, 'I see.'], {
      approve: () => 'ask',
      whileAsking: 'park',
    });
    const { client } = await serving([agent], { log });
    const task = await client().createTask({ agent: 'looper' });
    await task.send('Is it there?');
    await task.until(
      ({ pendingApprovals, isRunning }) => pendingApprovals.length > 0 && !isRunning,
    );
    await task.deny('c1', { reason: 'Leave it' });
    const { pendingApprovals } = await task.until(says('I see.'));
    expect([pendingApprovals, textsOf(task)[2]]).toEqual([[], expect.stringContaining('Leave it')]);
  });

  test('is stopped by one client after another one started it and left; the next message resumes it', async () => {
    const log = memoryLog();
    const { client } = await serving([looping(log, [stalls, 'Back again'])], { log });
    const first = client();
    const started = await first.createTask({ agent: 'looper' });
    await started.send('Go');
    await started.until(({ items }) => items.length === 2);
    first.close();
    const second = client().task(started.id);
    const seen = await second.until(({ items }) => items.at(-1)?.parts.length === 1);
    expect([seen.isRunning, seen.items.at(-1)?.isOpen]).toEqual([true, true]);
    expect((await second.stop('Enough')).status).toBe('INTERRUPTED');
    const stopped = await second.until(({ isRunning }) => !isRunning);
    expect(stopped.items.at(-1)).toMatchObject({ isOpen: false, stop: { reason: 'aborted' } });
    await second.until(({ task }) => task?.status === 'INTERRUPTED');
    await second.send('And now?');
    await second.until(says('Back again'));
    expect(second.snapshot().task?.status).toBe('RUNNING');
  });

  test('takes a message once, however often it comes with the same key', async () => {
    const log = memoryLog();
    const { client } = await serving([looping(log, ['One', 'Two'])], { log });
    const task = await client().createTask({ agent: 'looper' });
    const sent = await task.send('Hi', { key: 'a-key' });
    expect(await task.send('Hi', { key: 'a-key' })).toEqual(sent);
    await task.until(says('One'));
    expect(textsOf(task)).toEqual(['Hi', 'One']);
  });

  test('does not hear what is taken back before it is heard', async () => {
    const log = memoryLog();
    const script = [{ content: { parts: [looks] } }, 'One', 'Two'];
    const { client } = await serving([looping(log, script, { approve: () => 'ask' })], { log });
    const task = await client().createTask({ agent: 'looper' });
    await task.send('Is it there?');
    await task.until(({ pendingApprovals }) => pendingApprovals.length > 0);
    const { key } = await task.send('Never mind');
    await task.send('And here?');
    await task.withdraw(key);
    await task.approve('c1');
    await task.until(says('Two'));
    expect(textsOf(task)).toEqual([
      ...['Is it there?', 'tool_call', 'Nothing there', 'One', 'And here?', 'Two'],
    ]);
  });

  test('is steered while it works', async () => {
    const log = memoryLog();
    const script = [{ content: { parts: [looks] } }, 'Quietly.'];
    const { client } = await serving([looping(log, script, { approve: () => 'ask' })], { log });
    const task = await client().createTask({ agent: 'looper' });
    await task.send('Is it there?');
    await task.until(({ pendingApprovals }) => pendingApprovals.length > 0);
    await task.send('Be quiet', { when: 'steer' });
    await task.approve('c1');
    await task.until(says('Quietly.'));
    expect(textsOf(task)).toEqual([
      ...['Is it there?', 'tool_call', 'Nothing there', 'Be quiet', 'Quietly.'],
    ]);
  });
});

describe('a task of a sync or an async agent', () => {
  test('is sent messages and data, and shows the answers', async () => {
    const { client } = await serving([echo, listener]);
    const task = await client().createTask({ agent: 'echo' });
    expect((await task.send('hello')).offset).toBeUndefined();
    await task.until(({ items, isRunning }) => !isRunning && items.length === 2);
    await task.send({ type: 'data', data: { a: 1 } });
    await task.until(({ items, isRunning }) => !isRunning && items.length === 4);
    expect(textsOf(task)).toEqual(['hello', 'hello', 'structured', 'data']);
    await expect(task.send('faster', { when: 'steer' })).rejects.toMatchObject({
      code: 'bad_state',
    });
    const heard = await client().createTask({ agent: 'listener' });
    const sent = await heard.send('psst', { key: 'k' });
    expect(sent.offset).toBeGreaterThan(0);
    expect(await heard.send('psst', { key: 'k' })).toEqual(sent);
    await heard.until(({ items }) => items.length === 1);
    await expect(heard.approve('c1')).rejects.toMatchObject({ code: 'bad_state' });
  });

  test('that failed has ended, and goes on with the next message', async () => {
    const { client } = await serving([echo]);
    const task = await client().createTask({ agent: 'echo' });
    task.subscribe(() => {});
    await task.send('fail');
    await eventually(() => task.snapshot().connection.state === 'ended');
    expect(task.snapshot().connection).toEqual({ state: 'ended', reason: 'failed' });
    expect(task.snapshot().task).toMatchObject({
      status: 'FAILED',
      status_reason: expect.stringContaining('The handler of the agent threw'),
    });
    await task.send('again');
    await task.until(({ items, isRunning }) => !isRunning && items.length === 4);
    expect(textsOf(task)).toEqual(['fail', 'fail', 'again', 'again']);
    expect(task.snapshot().connection.state).toBe('live');
  });

  test('that is cancelled has ended for everybody; again it is the same', async () => {
    const { client } = await serving([echo]);
    const task = await client().createTask({ agent: 'echo' });
    const other = client().task(task.id);
    other.subscribe(() => {});
    await other.until(({ connection }) => connection.state === 'live');
    expect((await task.cancel('Done')).status).toBe('CANCELED');
    await eventually(() => other.snapshot().connection.state === 'ended');
    expect(other.snapshot().task).toMatchObject({ status: 'CANCELED', status_reason: 'Done' });
    expect((await task.cancel()).status).toBe('CANCELED');
    expect((await task.stop()).status).toBe('CANCELED');
    await expect(task.send('Hello?')).rejects.toMatchObject({ code: 'bad_state' });
  });
});

describe('what can be asked', () => {
  test('agents, and tasks page by page', async () => {
    const { client } = await serving([echo, listener]);
    const one = client();
    expect((await one.agents()).map(({ name }) => name).toSorted()).toEqual(['echo', 'listener']);
    const made = [];
    for (let count = 0; count < 5; count++) made.push((await one.createTask({ agent: 'echo' })).id);
    await one.createTask({ agent: 'listener' });
    const found = [];
    for (let cursor: string | undefined, pages = 0; pages < 3; pages++) {
      const page = await one.tasks({ agent: 'echo', limit: 2, cursor });
      found.push(...page.data.map(({ id }) => id));
      cursor = page.next;
    }
    expect(found.toSorted()).toEqual(made.toSorted());
    expect((await one.tasks({ status: 'FAILED' })).data).toEqual([]);
    const [first = ''] = made;
    const { data } = await one.tasks({ search: first.toUpperCase() });
    expect(data.map(({ id }) => id)).toEqual([first]);
  });

  test('a name is one task, and a handle is one for a task', async () => {
    const { client } = await serving([echo]);
    const one = client();
    const task = await one.createTask({ agent: 'echo', name: 'same', params: { a: 1 } });
    expect(await one.createTask({ agent: 'echo', name: 'same' })).toBe(task);
    expect(one.task(task.id)).toBe(task);
    task.close();
    expect(one.task(task.id)).not.toBe(task);
  });

  test('what is not there, and what is not allowed, is refused with a code', async () => {
    const token = createToken();
    const { client } = await serving([echo], { tokens: [token] });
    await expect(client().agents()).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
    const good = client({ token });
    expect(await good.agents()).toHaveLength(1);
    await expect(good.createTask({ agent: 'nobody' })).rejects.toMatchObject({ code: 'not_found' });
    const nowhere = good.task('nowhere');
    await expect(nowhere.send('Hello?')).rejects.toMatchObject({ code: 'not_found' });
    await expect(nowhere.until(() => false)).rejects.toMatchObject({ code: 'not_found' });
    expect(nowhere.snapshot().connection).toMatchObject({ state: 'failed' });
  });
});
