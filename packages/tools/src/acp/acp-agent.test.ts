import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAcpAgent as open, session } from '../testing/acp/open-acp-agent.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

test('24.8: an agent of the ACP SDK answers in our log, and keeps its session', async () => {
  const { say, shown } = open();
  expect(await say('Hi')).toBe('You said Hi.');
  expect(await say('More')).toBe('You said More.');
  expect(await shown()).toEqual([
    ...['text Hi', 'reasoning Let me think.', 'text You said Hi.'],
    ...['text More', 'reasoning Let me think.', 'text You said More.'],
  ]);
});

test('24.8: parallel calls are on our log, and their permission requests are forms', async () => {
  const { agent, cwd, next, shown } = open();
  const run = agent.run('write', { session });
  const first = await next(2);
  expect(first.from?.form?.message).toMatch(
    /: Write a\.txt\n\{"name":"a\.txt"\}\n.*a\.txt:\nthe text of a\.txt$/,
  );
  await agent.approve(session, first.toolCallId, { input: { answer: 'yes' } });
  const second = await next(1);
  await agent.deny(session, second.toolCallId, { reason: 'Not this one' });
  expect((await run.result).text).toBe('Written.');
  expect([existsSync(join(cwd, 'a.txt')), existsSync(join(cwd, 'b.txt'))]).toEqual([true, false]);
  const call = (name: string) =>
    `call edit ${JSON.stringify({ title: `Write ${name}`, input: { name }, paths: [join(cwd, name)] })}`;
  expect(await shown()).toEqual([
    ...['text write', 'reasoning Plan:\n- [~] Write\n', 'text I write.'],
    ...[call('a.txt'), call('b.txt')],
    'tool_result wrote a.txt',
    'tool_result rejected: {"outcome":"selected","optionId":"no"}',
    'text Written.',
  ]);
});

test('24.8: a call whose input arrives later is on our log with its input', async () => {
  const { say, shown } = open();
  expect(await say('late input')).toBe('Read.');
  expect(await shown()).toContain('call read {"title":"Read a.txt","input":{"path":"a.txt"}}');
});

test('24.8: a stop cancels the turn of the agent, and the same process continues', async () => {
  const { agent, cwd, say } = open();
  const run = agent.run('wait', { session });
  for await (const event of run.events)
    if (event.type === 'assistant_text_delta' && event.text.includes('I wait.')) break;
  run.abort();
  expect((await run.result).reason).toBe('aborted');
  await expect.poll(() => existsSync(join(cwd, 'cancelled'))).toBe(true);
  expect(await say('Hi')).toBe('You said Hi.');
});

test('24.8: after the end of a process, the next one loads the session, or gets the conversation', async () => {
  const loading = open({ canLoad: true });
  await loading.say('Hi');
  await loading.agent.close();
  expect(JSON.parse(await loading.say('loaded'))).toHaveLength(1);
  const forgetful = open();
  await forgetful.say('My name is Ann');
  const crashed = await forgetful.agent.run('crash', { session }).result;
  expect(crashed.error?.message).toContain('It exited with code 3');
  expect(await forgetful.say('Who am I?')).toMatch(
    /^You said The conversation so far:\n\nuser: My name is Ann.*crash\nWho am I\?\.$/s,
  );
});

test('24.8: a program that is no agent, or does not exist, is a failed run with the reason', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'no-acp'), '');
  const broken = await open({ cwd }).agent.run('Hi').result;
  expect(broken.error?.message).toContain('It exited with code 1. Its last output: no such flag');
  const missing = await open({ command: join(cwd, 'missing') }).agent.run('Hi').result;
  expect(missing.error?.message).toContain('It cannot start');
  expect(() => open({ cwd: 'relative' })).toThrow('the folder must be absolute');
});
