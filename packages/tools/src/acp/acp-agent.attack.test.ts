import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolGuardrail } from '@millrace/agent';
import { snapshot } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { openAcpAgent as open, session } from '../testing/acp/open-acp-agent.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { SessionEvents } from './session-events.ts';

test.each([
  ['leave', 'It exited with code 4'],
  ['flood', 'The remote agent sent too much while its calls ran'],
])(
  'attack 24.8: an agent that asks and then does %s ends the run and the question',
  async (word, problem) => {
    const { agent, next, cwd, log } = open();
    const run = agent.run(word, { session });
    await next(1);
    writeFileSync(join(cwd, 'go'), '');
    const { reason, error } = await run.result;
    expect([reason, error?.message]).toEqual(['error', expect.stringContaining(problem)]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  },
);

test('attack 24.8: the agent gets no keys, no files and no terminals of the server', async () => {
  process.env['MY_SECRET_TOKEN'] = 'hidden-value';
  onTestFinished(() => void delete process.env['MY_SECRET_TOKEN']);
  const { say, cwd } = open({ env: { GIVEN: 'yes', ...(childEnv() as object) } });
  writeFileSync(join(cwd, 'secret.txt'), 'secret');
  const env = JSON.parse(await say('env')) as Record<string, string>;
  expect([env['MY_SECRET_TOKEN'], env['GIVEN']]).toEqual([undefined, 'yes']);
  expect(await say('files')).toBe(
    'The client does not offer fs/read_text_file. The client does not offer terminal/create. ',
  );
  expect(readFileSync(join(cwd, 'secret.txt'), 'utf8')).toBe('secret');
  const allowed = open({ allowEnv: ['MY_SECRET_TOKEN'] });
  expect(JSON.parse(await allowed.say('env'))['MY_SECRET_TOKEN']).toBe('hidden-value');
});

const hostile = fileURLToPath(new URL('../testing/acp/hostile-agent.ts', import.meta.url));

test('attack 18.399: the agent is cancelled when a guardrail blocks the run', async () => {
  const stop = { verdict: 'stop', reason: 'bad' } as const;
  const guardrails = [toolGuardrail({ name: 'no-calls', check: () => stop })];
  const { agent, cwd } = open({ args: [hostile], guardrails });
  expect((await agent.run('work', { session }).result).reason).toBe('blocked');
  await expect.poll(() => existsSync(join(cwd, 'cancelled'))).toBe(true);
});

test('attack 18.403: an update without an output does not read the output of the call again', () => {
  const events = new SessionEvents();
  let reads = 0;
  const content = Array.from({ length: 100 }, () => ({
    type: 'content',
    get content() {
      reads++;
      return { type: 'text', text: 'a' };
    },
  }));
  const update = { sessionUpdate: 'tool_call_update', toolCallId: 'c1' };
  events.update({ ...update, status: 'in_progress', content });
  const first = reads;
  for (let count = 0; count < 100; count++) expect(events.update(update)).toEqual([]);
  expect([first > 0, reads]).toEqual([true, first]);
});

test.each(['error', 'exit'])(
  'attack 18.404: the value of an allowed variable is not on the log after: %s',
  async (word) => {
    const value = 'hidden-value-of-a-login';
    process.env['MY_LOGIN'] = value;
    onTestFinished(() => void delete process.env['MY_LOGIN']);
    const { agent, log } = open({ args: [hostile], allowEnv: ['MY_LOGIN'] });
    const { error } = await agent.run(word, { session }).result;
    expect(error?.message).toContain('The key [masked] is invalid');
    expect(JSON.stringify((await log.read(session)).records)).not.toContain(value);
  },
);

test('attack 18.866: the value of an allowed variable is not on the log after it is in ids and names', async () => {
  const value = 'hidden-value-of-a-login';
  process.env['MY_LOGIN'] = value;
  onTestFinished(() => void delete process.env['MY_LOGIN']);
  const { agent, log, shown } = open({ args: [hostile], allowEnv: ['MY_LOGIN'] });
  expect((await agent.run('repeat the key', { session }).result).reason).toBe('stop');
  expect(JSON.stringify((await log.read(session)).records)).not.toContain(value);
  expect((await shown()).filter((text) => text.startsWith('tool_result'))).toHaveLength(1);
});

test.each([
  ['growing input', 'ls; rm x\n{"command":"ls; rm x"}'],
  ['no input', 'Terminal\nThe agent has not sent the input of this call.'],
])(
  'attack 18.437: the question about a call shows its newest input: %s',
  async (prompt, described) => {
    const { agent, next } = open({ args: [hostile] });
    const run = agent.run(prompt, { session });
    const { from } = await next(1);
    expect(from?.form?.message).toContain(`asks:\n\nThe agent asks for permission: ${described}`);
    run.abort();
    await run.result;
  },
);

test('attack 18.405: a malformed error ends the run, and the session continues', async () => {
  const { agent, say } = open({ args: [hostile] });
  const { error } = await agent.run('malformed', { session }).result;
  expect(error?.message).toBe('The agent failed: It gave no reason');
  expect(await say('Hello')).toBe('Hi');
});

test.each(['.', 'bin', ''])(
  'attack 18.406: a search path with "%s" does not start a program of the project',
  async (entry) => {
    const { PATH: own = '' } = process.env;
    process.env['PATH'] = [entry, own].join(delimiter);
    onTestFinished(() => void Object.assign(process.env, { PATH: own }));
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'bin'));
    for (const name of ['my-agent', 'bin/my-agent'])
      writeFileSync(join(cwd, name), '#!/bin/sh\necho started > started\n', { mode: 0o755 });
    const { agent } = open({ command: 'my-agent', args: [], cwd, env: {} });
    const { error } = await agent.run('Hi').result;
    expect(error?.message).toContain('It cannot start');
    expect(existsSync(join(cwd, 'started'))).toBe(false);
  },
);
