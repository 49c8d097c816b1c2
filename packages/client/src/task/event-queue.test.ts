import { type AgentEvent, countingIds, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { rebuild } from '../../../core/src/testing/rebuild.ts';
import { appendBatches, recordedRun } from '../../../server/src/testing/recorded-run.ts';
import { echo, listener } from '../testing/agents.ts';
import { serving } from '../testing/serving.ts';
import { EventQueue } from './event-queue.ts';

const event = (offset: number) => ({ type: 'turn_started', offset }) as unknown as AgentEvent;

describe('events', () => {
  test('of a task from its start are complete, and each comes once', async () => {
    const log = memoryLog();
    const { client } = await serving([listener], { log });
    const { id } = await client().createTask({ agent: 'listener' });
    const task = client().task(id);
    const events = task.events();
    const heard: AgentEvent[] = [];
    const reading = (async () => {
      for await (const one of events) {
        heard.push(one);
        if (one.type === 'run_finished') break;
      }
    })();
    await appendBatches(log, sessionId(id), recordedRun(2, countingIds()));
    await reading;
    expect(rebuild(heard)).toEqual(transcript(await snapshot(log, sessionId(id))));
    const offsets = heard.map(({ offset }) => offset);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
  });

  test('end with the stream, and throw what it fails with', async () => {
    const { client } = await serving([echo]);
    const task = await client().createTask({ agent: 'echo' });
    const heard: string[] = [];
    const reading = (async () => {
      for await (const { type } of task.events()) heard.push(type);
    })();
    await task.send('fail');
    await reading;
    expect(heard).toContain('run_finished');
    const nowhere = client().task('nowhere').events();
    await expect(nowhere.next()).rejects.toMatchObject({ code: 'not_found' });
    expect(await nowhere.next()).toEqual({ done: true, value: undefined });
  });

  test('stop with their signal', async () => {
    const { client } = await serving([echo]);
    const task = await client().createTask({ agent: 'echo' });
    const controller = new AbortController();
    const reading = task.events({ signal: controller.signal }).next();
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    await expect(task.events({ signal: AbortSignal.abort('early') }).next()).rejects.toBe('early');
  });
});

describe('a queue of events', () => {
  test('returns the events from before its end, in order, if readers or events come first', async () => {
    const queue = new EventQueue(() => {});
    const early = [queue.next(), queue.next()];
    queue.push([1, 2, 3].map(event));
    queue.end();
    queue.push([event(4)]);
    const told = await Promise.all([...early, queue.next(), queue.next()]);
    expect(told.map(({ value }) => value?.offset)).toEqual([1, 2, 3, undefined]);
  });

  test('keeps its order and its length however many pass through', async () => {
    const queue = new EventQueue(() => {});
    for (let count = 0; count < 5000; count++) queue.push([event(2 * count), event(2 * count + 1)]);
    for (let count = 0; count < 9000; count++)
      expect((await queue.next()).value?.offset).toBe(count);
    expect(queue.length).toBe(1000);
  });

  test('is bounded: a slow reader gets the kept events and then an error', async () => {
    let over = 0;
    const queue = new EventQueue(() => over++);
    for (let count = 0; count <= 60_000; count++) queue.push([event(count)]);
    expect([queue.length, over]).toEqual([50_001, 1]);
    for (let count = 0; count <= 50_000; count++) await queue.next();
    await expect(queue.next()).rejects.toMatchObject({ code: 'lagging' });
  });
});
