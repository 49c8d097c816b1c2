import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { startScriptedServer } from '@millrace/providers/scripted-server';
import { describe, expect, test } from 'vitest';
import { childEnv, fewOf } from '../packages/core/src/testing/runs.ts';

/** Runs an example as a user would, with only the given environment variables. */
async function run(
  example: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const flags = ['--conditions=@millrace/source', `examples/${example}`, ...args];
  const child = spawn(process.execPath, flags, {
    env: { ...childEnv(), ...env },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => {
    output.stdout += String(data);
  });
  child.stderr.on('data', (data) => {
    output.stderr += String(data);
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { ...output, code };
}

describe('01-stream-a-turn', () => {
  const example = '01-stream-a-turn/main.ts';

  test('a script answers without a key and without a server', async () => {
    const { stdout, code } = await run(example, ['--provider', 'scripted']);
    expect(stdout).toContain('no key is set');
    expect(stdout).toContain('A millrace is the channel');
    expect(stdout).toContain('stop;');
    expect(code).toBe(0);
  });

  test('streams from any OpenAI-compatible server', async () => {
    await using server = await startScriptedServer();
    server.answer({ reasoning: 'Hm.', text: 'Blue, mostly.', usage: { input: 4, output: 3 } });
    const { stdout, code } = await run(example, ['Why?', '--base-url', `${server.url}/v1`]);
    expect(stdout).toContain('Hm.');
    expect(stdout).toContain('Blue, mostly.');
    expect(stdout).toContain('stop; 4 tokens in, 3 out');
    expect(code).toBe(0);
    expect(server.requests[0]?.body).toMatchObject({
      messages: [{ role: 'user', content: 'Why?' }],
    });
  });

  const keys = [
    ['anthropic', 'ANTHROPIC_API_KEY'],
    ['openai', 'OPENAI_API_KEY'],
    ['gemini', 'GEMINI_API_KEY'],
    ['openrouter', 'OPENROUTER_API_KEY'],
    ['groq', 'GROQ_API_KEY'],
    ['mistral', 'MISTRAL_API_KEY'],
    ['deepseek', 'DEEPSEEK_API_KEY'],
    ['xai', 'XAI_API_KEY'],
    ['together', 'TOGETHER_API_KEY'],
  ] as const;

  test.each(fewOf(keys, 3))('uses the API of %s with its key', async (provider, variable) => {
    await using server = await startScriptedServer();
    server.answer({ text: 'Blue, mostly.', usage: { input: 4, output: 3 } });
    const args = ['--provider', provider, '--base-url', server.url];
    const { stdout, code } = await run(example, args, { [variable]: 'test-key' });
    expect(stdout).toContain(`${variable} is set`);
    expect(stdout).toContain('Blue, mostly.');
    expect(code).toBe(0);
    expect(JSON.stringify(server.requests[0]?.headers)).toContain('test-key');
  });

  test('all arguments that are not options form the question', async () => {
    await using server = await startScriptedServer();
    server.answer({ text: 'Blue.' });
    const args = ['Why', 'is', '--base-url', `${server.url}/v1`, 'it', 'blue?'];
    expect((await run(example, args)).code).toBe(0);
    expect(server.requests[0]?.body).toMatchObject({
      messages: [{ role: 'user', content: 'Why is it blue?' }],
    });
  });

  test('a blank line separates the reasoning from the answer', async () => {
    await using server = await startScriptedServer();
    server.answer({ reasoning: 'Let me see.', text: 'Blue, mostly.' });
    const { stdout } = await run(example, ['Why?', '--base-url', `${server.url}/v1`]);
    expect(stripVTControlCharacters(stdout)).toMatch(
      /\n\nLet me see\.\n\nBlue, mostly\.\n\nstop; /,
    );
  });

  test.each<[string, readonly string[], string]>([
    ['an unknown provider', ['--provider', 'nope'], 'Use one of anthropic, openai, gemini'],
    ['an unknown flag', ['--modle', 'x'], '--modle'],
    ['a flag without its value', ['--model'], '--model'],
  ])('%s is an error of one line without a stack', async (_, args, message) => {
    const { stdout, stderr, code } = await run(example, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('the error for a missing key names the variable', async () => {
    const { stderr, code } = await run(example, ['--provider', 'anthropic']);
    expect(stderr).toContain('ANTHROPIC_API_KEY');
    expect(code).toBe(1);
  });
});
