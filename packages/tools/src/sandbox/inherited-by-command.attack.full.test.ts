import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import type { SandboxedAnswer, SandboxedRequest } from '../testing/sandbox/sandboxed-agent.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';

// Variables and descriptors that an agent inherited must not influence a command or the start of the sandbox.

/** Runs one command in the sandbox of a new agent. */
async function runInNewAgent(
  { env = {}, fds = [], ...request }: SandboxedRequest & NewAgent,
  context: Pick<TestContext, 'skip'>,
): Promise<string> {
  const program = new URL('../testing/sandbox/sandboxed-agent.ts', import.meta.url);
  const child = spawn(process.execPath, [bundledProgram(program)], {
    stdio: ['pipe', 'pipe', 'inherit', ...fds],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  onTestFinished(() => void child.stdin?.destroy());
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('The agent has no pipes');
  stdin.write(`${JSON.stringify(request)}\n`);
  const [line] = (await once(createInterface({ input: stdout }), 'line')) as [string];
  stdin.end();
  const answer = JSON.parse(line) as SandboxedAnswer;
  if (!('missing' in answer)) return answer.text;
  const { missing } = answer;
  if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(missing);
  return context.skip(missing);
}

interface NewAgent {
  readonly env?: Readonly<Record<string, string>>;
  /** File descriptors of the agent. The first one gets number 3. */
  readonly fds?: readonly ('ignore' | number)[];
}

test.for(['absolute', 'relative'])(
  'attack: a library of the repository is loaded through %s folders in LD_LIBRARY_PATH',
  async (kind, context) => {
    const root = temporaryFolder();
    // Neither bubblewrap nor a shell starts with this library.
    writeTree(root, { 'lib/libcap.so.2': 'not a library', 'lib/libselinux.so.1': 'neither' });
    const inside = kind === 'absolute' ? join(root, 'lib') : 'lib';
    const env = { LD_LIBRARY_PATH: `${inside}:/usr/lib:` };
    const input = { command: 'ls; echo "$LD_LIBRARY_PATH"; pwd; echo "$PWD"' };
    const text = await runInNewAgent({ root, input, env }, context);
    expect(text).toBe(`lib\n/usr/lib\n${root}\n${root}`);
  },
);

test('attack: a command reads an open file that the agent got from its parent', async (context) => {
  const [root, outside] = [temporaryFolder(), temporaryFolder()];
  writeTree(outside, { secret: 'hush-hush' });
  const fd = openSync(join(outside, 'secret'), 'r');
  onTestFinished(() => closeSync(fd));
  const input = { command: 'cat <&60; cat <&200; echo end' };
  // Node.js itself closes the low numbers.
  const fds: NewAgent['fds'] = Array.from({ length: 198 }, (_, at) =>
    at + 3 === 60 || at === 197 ? fd : 'ignore',
  );
  const text = await runInNewAgent({ root, input, fds }, context);
  expect(text).toContain('end');
  expect(text).not.toContain('hush-hush');
});
