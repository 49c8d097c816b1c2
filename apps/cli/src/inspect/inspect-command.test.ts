import { join } from 'node:path';
import { createAgent, defineTool, systemClock } from '@millrace/agent';
import { decodeRecord, itemId as itemIdOf, type JsonValue, sessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { exitCodes } from '../exit-code.ts';
import { openStore } from '../store/open-store.ts';
import { userItem } from '../store/session-summaries.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import { toolCall } from '../testing/run-print.ts';
import { collect } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { inspectCommand } from './inspect-command.ts';

const folder = temporaryFolder('inspect');
const session = sessionId('one');
let store: string;
let count = 0;
beforeEach(() => {
  store = join(folder(), `${++count}.db`);
});

/**
 * Records two turns in virtual time. A request fails and is repeated. A call waits 3 s for approval
 * and runs for 1.5 s. Then the model answers.
 */
async function record(more: (log: Log) => Promise<void> = async () => {}): Promise<void> {
  const clock = new VirtualClock();
  const storeClock = { ...systemClock, now: () => clock.now() };
  const { log, close } = await openStore({ config: { store }, env: {}, clock: storeClock });
  const slow = defineTool({
    ...{ name: 'slow', description: 'Takes its time', input: z.object({}) },
    summarize: () => 'wait for it',
    execute: async () => {
      clock.advance(1500);
      throw new Error('no luck');
    },
  });
  const cost = { costs: [{ amount: '0.0025', currency: 'USD' }] };
  const speaking = (ms: readonly number[], words: string): ScriptEntry => ({
    content: {
      *write(writer) {
        clock.advance(ms[0] ?? 0);
        const text = writer.text();
        text.append(words);
        yield;
        clock.advance(ms[1] ?? 0);
        text.append('!');
        text.commit();
        yield;
      },
    },
    usage: { input: 100, output: 20, cacheRead: 60, ...cost },
  });
  const script: readonly ScriptEntry[] = [
    { content: { parts: ['It'] }, fault: { type: 'error', after: 0, error: 'overloaded' } },
    { content: { parts: [toolCall('c1', 'slow', {})] }, usage: { input: 50, output: 5 } },
    speaking([200, 400], 'It turns'),
  ];
  const agent = createAgent({
    ...{ provider: scriptedProvider(script), log, tools: [slow], retry: { baseDelayMs: 0 } },
    approve: () => 'ask',
  });
  const run = agent.run(userItem(['The weather?'], { cwd: '/here' }), { session });
  for await (const event of run.events)
    if (event.type === 'approval_asked') {
      clock.advance(3000);
      await run.approve(event.toolCallId, { by: 'Ada' });
    }
  await more(log);
  await close();
}

async function inspect(
  json: boolean,
  stdout: CapturedOutput = new CapturedOutput(),
  which = 'one',
) {
  const args = { command: 'inspect', session: which, json, color: true } as const;
  const stderr = new CapturedOutput();
  const config = { store };
  const code = await inspectCommand({ args, config, stdout, stderr, env: {}, cwd: '/here' });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

describe('as JSON', () => {
  test('has every record as it is', async () => {
    await record();
    const { code, stdout } = await inspect(true);
    const { records } = JSON.parse(stdout) as { readonly records: readonly JsonValue[] };
    const { log, close } = await openStore({ config: { store }, env: {} });
    const stored = await collect(readRecords(log, session));
    await close();
    expect(records.map((one) => decodeRecord(JSON.stringify(one)))).toEqual(stored);
    expect(code).toBe(exitCodes.done);
  });

  test('says where time and tokens went: attempts, tools, and all of it together', async () => {
    await record();
    const { turns, totals, session: about } = JSON.parse((await inspect(true)).stdout);
    expect(about).toMatchObject({ id: 'one', title: 'The weather?', cwd: '/here' });
    expect(turns).toMatchObject([
      {
        turn: 1,
        durationMs: 4500,
        stop: { reason: 'tool_use' },
        attempts: [
          { attempt: 1, model: 'script', superseded: 'overloaded', retryDelayMs: 0 },
          { attempt: 2, provider: 'scripted', durationMs: 0, usage: { input: 50, output: 5 } },
        ],
        tools: [
          {
            ...{ name: 'slow', summary: 'wait for it', durationMs: 1500, approvalMs: 3000 },
            ...{ outcome: 'completed', isError: true },
          },
        ],
      },
      {
        turn: 2,
        durationMs: 600,
        attempts: [{ timeToFirstTokenMs: 200, durationMs: 600, tokensPerSecond: 50 }],
        tools: [],
      },
    ]);
    expect(totals).toMatchObject({
      ...{ turns: 2, attempts: 3, retries: 1, executions: 1, failedExecutions: 1 },
      ...{ modelMs: 600, toolMs: 1500, approvalMs: 3000 },
      usage: { input: 150, output: 25, cacheRead: 60 },
    });
  });
});

describe('as text', () => {
  test('is a table of the records: offset, time, turn and attempt, type, what it says', async () => {
    await record();
    const lines = (await inspect(false)).stdout.split('\n');
    expect(lines[0]).toMatch(/^ *offset +seconds +turn {2}type +content$/);
    const rowOf = (type: string) => lines.find((line) => line.includes(` ${type} `));
    expect(lines[1]).toMatch(/^ *1 +\+0\.000 +0\.0 {2}run_started$/);
    expect(rowOf('response_started')).toMatch(/1\.1 {2}response_started +scripted script$/);
    expect(rowOf('retry_scheduled')).toMatch(/overloaded/);
    expect(rowOf('tool_execution_started')).toMatch(/\+3\.000 .* wait for it$/);
    expect(rowOf('response_finished')).toMatch(/tool_use, 50 in, 5 out$/);
  });

  test('has neighbouring appends of one part in one row', async () => {
    await record();
    const { stdout } = await inspect(false);
    expect(stdout).toMatch(/\d+–\d+ .* append_text ×2 +"It turns!"\n/);
    expect(stdout).not.toContain('append_text  ');
  });

  test('then says where time and tokens went', async () => {
    await record();
    const { stdout } = await inspect(false);
    const report = stdout.slice(stdout.indexOf('Requests\n'));
    expect(report.split('\n')).toEqual([
      'Requests',
      '',
      'turn   first   whole   in  cached  out  per s  cost        model',
      expect.stringMatching(
        /^1\.1 +– +0 ms +~?0 +– +~?0 +– {2}– +scripted\/script \(overloaded: superseded, retried after 0 ms\)$/,
      ),
      '1.2     0 ms    0 ms   50     0 %    5      –  –           scripted/script',
      '2.1   200 ms  600 ms  100    60 %   20   50.0  0.0025 USD  scripted/script',
      '',
      'Tools',
      '',
      'turn   took  asked  what',
      '1     1.5 s  3.0 s  wait for it (failed)',
      '',
      '2 turns, 3 requests (1 of them repeated), 1 tool call (1 failed)',
      expect.stringMatching(
        /^Tokens: (about )?150 in, 25 out, 0\.0025 USD; 60 input tokens from the cache \(40 %\), 0 output tokens for reasoning$/,
      ),
      'Time: model 600 ms, tools 1.5 s, approvals 3.0 s',
      '',
    ]);
  });

  test('says of a request that its process died in it', async () => {
    await record(async (log) => {
      const driver = await log.open(session, { takeOver: true });
      const at = { turn: 3, attempt: 1 };
      const itemId = itemIdOf('died');
      await driver.append([
        { turn: 3, attempt: 0, fact: { type: 'turn_started' } },
        { ...at, fact: { type: 'item_started', kind: 'assistant', itemId } },
        { ...at, fact: { type: 'response_started', itemId, provider: 'p', model: 'm' } },
      ]);
    });
    expect((await inspect(false)).stdout).toMatch(/^3\.1 +– +– .* p\/m \(no end\)$/m);
  });

  test('fits into the terminal, and is whole elsewhere', async () => {
    await record();
    const { stdout } = await inspect(false, new CapturedOutput({ isTTY: true }));
    const table = stdout.slice(0, stdout.indexOf('\n\nRequests')).split('\n');
    expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(stdout).toContain('…');
  });

  test('knows of a settled turn what its facts say', async () => {
    await record(async (log) => {
      expect(await log.settle(session, 2)).toBe(true);
    });
    const { stdout } = await inspect(false);
    expect(stdout).toMatch(/snapshot +of \d+ to \d+\n/);
    expect(stdout).toMatch(/\n2\.1 +– +600 ms +100 +60 % +20 +– /);
  });
});

test('an output that nobody reads is no error, and one that is full is', async () => {
  await record();
  expect((await inspect(false, new FailingOutput('EPIPE', 1))).code).toBe(exitCodes.done);
  const full = inspect(false, new FailingOutput('ENOSPC', 1));
  await expect(full).rejects.toMatchObject({ code: 'cannot_write' });
});

test('a session has to be there', async () => {
  await record();
  const none = inspect(false, undefined, 'nope');
  await expect(none).rejects.toMatchObject({ code: 'no_such_session' });
});
