import { mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, describe, expect, test } from 'vitest';
import { nextRequestLengths } from '../testing/next-request.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { type BashToolOptions, bashTool } from './bash-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const tool = (options: Partial<BashToolOptions> = {}) =>
  bashTool({ workspace: createWorkspace({ root }), ...options });
const bash = (command: string, options: Partial<BashToolOptions> = {}) =>
  runTool(tool(options), { command });

test('bash has effects, is not replayed, and its summary starts with the command', () => {
  expect(tool()).toMatchObject({ name: 'bash', effects: 'external', afterCrash: 'fail' });
  const summary = tool().summarize({ command: 'rm -rf x', description: 'Tidies up' });
  expect(summary).toBe('rm -rf x  # Tidies up');
});

describe('a command', () => {
  test('runs in the root and returns its output', async () => {
    const { text, isError, value } = await bash('pwd; touch made');
    expect(text).toBe(root);
    expect(isError).toBe(false);
    expect(value).toEqual({
      exitCode: 0,
      signal: null,
      timedOut: false,
      aborted: false,
      outputLength: root.length + 1,
      droppedBytes: 0,
    });
    expect(readdirSync(root)).toEqual(['made']);
  });

  test('gets its trace context in the environment, and not that of another trace', async () => {
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const command = 'echo "$TRACEPARENT|$TRACESTATE"';
    const ran = await runTool(tool(), { command }, { trace: { traceparent, tracestate: 'a=1' } });
    expect(ran.text).toBe(`${traceparent}|a=1`);
    const set = { TRACEPARENT: 'of somebody else', TRACESTATE: 'b=2' };
    const other = await runTool(tool({ env: { set } }), { command }, { trace: { traceparent } });
    expect(other.text).toBe(`${traceparent}|`);
    expect((await bash(command, { env: { set } })).text).toBe('of somebody else|b=2');
  });

  test('that fails is an error, with its exit code', async () => {
    const ran = await bash('echo why; exit 3');
    expect(ran).toMatchObject({
      text: 'why\n[Exit code 3]',
      isError: true,
      value: { exitCode: 3 },
    });
    const killed = await bash('kill -KILL $$');
    expect(killed).toMatchObject({ isError: true, value: { exitCode: null, signal: 'SIGKILL' } });
    expect(killed.text).toBe('No output.\n[It was killed by SIGKILL]');
  });

  test('prints to stdout and stderr in one order, also by path', async () => {
    const lines = [
      'echo 1',
      'echo 2 >&2',
      'echo 3 > /dev/stderr',
      'echo 4 > /dev/stdout',
      'echo 5',
    ];
    const { text, updates } = await bash(lines.join('\n'));
    expect(text).toBe('1\n2\n3\n4\n5');
    expect(updates.join('')).toBe('1\n2\n3\n4\n5\n');
  });

  test('has no input', async () => {
    expect((await bash('cat; read x; echo "$?"')).text).toBe('1');
  });

  test('may start with a dash', async () => {
    expect(await bash('-c "echo no"')).toMatchObject({ value: { exitCode: 127 } });
  });

  test('gets no other variables of this process, unless they are allowed', async () => {
    process.env['MILLRACE_TEST_TOKEN'] = 'hush';
    process.env['MILLRACE_TEST_WORD'] = 'word';
    const command = 'echo "$MILLRACE_TEST_TOKEN,$MILLRACE_TEST_WORD,$SET"';
    try {
      expect((await bash(command)).text).toBe(',,');
      const env = { allow: ['MILLRACE_TEST_TOKEN', 'MILLRACE_TEST_WORD'], set: { SET: 'x' } };
      expect((await bash(command, { env })).text).toBe('hush,word,x');
    } finally {
      delete process.env['MILLRACE_TEST_TOKEN'];
      delete process.env['MILLRACE_TEST_WORD'];
    }
  });

  test('can be run by another shell', async () => {
    expect((await bash('echo "$0"', { shell: 'sh' })).text).toBe('sh');
  });

  test('leaves no files and no open handles', async () => {
    const before = process.env['TMPDIR'];
    const folder = join(root, 'tmp');
    mkdirSync(folder);
    process.env['TMPDIR'] = folder;
    const handles = () => readdirSync('/proc/self/fd').length;
    try {
      await bash('head -c 2000000 /dev/zero');
      const open = handles();
      for (let round = 0; round < 2; round++) await bash('head -c 2000000 /dev/zero');
      expect(handles()).toBeLessThanOrEqual(open);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  });
});

describe('a command that cannot run', () => {
  test.each([
    ['nothing', { command: '' }, /command/],
    ['a NUL', { command: 'echo \0' }, /NUL/],
    ['more time than there is', { command: 'x', timeout_ms: 10 ** 9 }, /timeout_ms/],
  ])('is refused before it starts: %s', async (_, input, problem) => {
    expect(await runTool(tool(), input)).toMatchObject({
      isError: true,
      text: expect.stringMatching(problem),
    });
  });

  test('gives the reason: too long for the system', async () => {
    // The line is within the limit in characters, but too long for the system in bytes.
    expect(await bash(`echo ${'é'.repeat(99_000)}`)).toMatchObject({
      isError: true,
      text: 'Cannot start bash: the command is too long for the system (E2BIG). Nothing was run',
    });
  });

  test('gives the reason: no shell, no folder', async () => {
    const without = await bash('x', { shell: 'no-such-shell' });
    expect(without.text).toMatch(
      /^Cannot start no-such-shell: .*E(?:NOENT|ACCES).*Nothing was run$/,
    );
    const workspace = createWorkspace({ root: join(root) });
    rmdirSync(root);
    const nowhere = await runTool(bashTool({ workspace }), { command: 'x' });
    expect(nowhere.text).toMatch(/the folder .* does not exist/);
    mkdirSync(root);
  });
});

describe('the output of a command', () => {
  test('is text: a NUL is replaced', async () => {
    expect((await bash("printf 'a\\0b\\377'")).text).toBe('a\ufffdb\ufffd');
  });

  test('is clipped in the middle if it is too long, and stored completely as a blob', async () => {
    const { blobs } = memoryLog();
    const { text, value, attachments } = await runTool(
      tool({ maxOutputLength: 5000 }),
      { command: 'seq 1 20000' },
      { blobs },
    );
    const whole = Array.from({ length: 20_000 }, (_, at) => `${at + 1}\n`).join('');
    expect(text.length).toBeLessThanOrEqual(5000);
    expect(text).toMatch(
      /^1\n2\n3\n.*\n\[… \d+ characters are left out here …\]\n.*20000\n\[The whole output is blob/s,
    );
    const { hash, length } = (value as { wholeOutput: { hash: string; length: number } })
      .wholeOutput;
    expect(text).toContain(hash);
    expect(length).toBe(whole.length);
    expect(attachments).toMatchObject([{ kind: 'file', source: { type: 'blob', hash, length } }]);
    expect(new TextDecoder().decode(await blobs.get(hash))).toBe(whole);
  });

  test.each([30_000, 300])(
    'is sent to the model clipped to %i, and never completely',
    async (maxOutputLength) => {
      const log = memoryLog();
      const session = sessionId('long');
      const command = 'yes "some fast output line" | head -n 100000';
      const asks = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
      const call = { ...asks, arguments: JSON.stringify({ command }) };
      const provider = scriptedProvider([{ content: { parts: [call] } }, 'Done.']);
      const tools = [tool({ maxOutputLength })];
      await createAgent({ provider, log, tools }).run('Go', { session }).result;
      const lengths = await nextRequestLengths(log, session);
      expect(lengths).toHaveLength(4);
      expect(Math.min(...lengths)).toBeGreaterThan(maxOutputLength / 2);
      expect(Math.max(...lengths)).toBeLessThan(maxOutputLength + 10_000);
    },
  );

  test('is returned even if it cannot be stored', async () => {
    const put = () => Promise.reject(new Error('full'));
    const blobs = { ...memoryLog().blobs, put };
    const { text, isError } = await runTool(tool(), { command: 'seq 1 20000' }, { blobs });
    expect(isError).toBe(false);
    expect(text).toMatch(/20000\n\[The whole output could not be stored\]$/);
  });
});
