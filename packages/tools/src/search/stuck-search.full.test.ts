import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { globTool } from './glob-tool.ts';
import { grepTool } from './grep-tool.ts';

// Each of these searches would practically never end.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const workspace = () => createWorkspace({ root });

test('an endless expression is stopped, and earlier matches are returned', async () => {
  writeTree(root, { a: 'aab', b: `${'a'.repeat(5000)}!`, c: 'aab' });
  // A worker may start slowly, so the time limit grows until the worker reaches the second file.
  for (let timeoutMs = 250; ; timeoutMs *= 2) {
    const { text, value } = await runTool(grepTool({ workspace: workspace(), timeoutMs }), {
      pattern: '^(a+)+[b]',
    });
    expect(value).toMatchObject({ isComplete: false });
    if (!text.startsWith('a\n') || !text.includes('was stuck')) continue;
    expect(text).toMatch(/^a\n1:aab\n\nThe search was stuck in b and was ended after \d+ ms/);
    return;
  }
});

test('an endless glob is stopped with an error', async () => {
  writeTree(root, { ['a'.repeat(240)]: '' });
  const pattern = `${'*a'.repeat(40)}b`;
  for (let timeoutMs = 250; ; timeoutMs *= 2) {
    const tool = globTool({ workspace: workspace(), timeoutMs });
    const { text, value, isError } = await runTool(tool, { pattern });
    expect(value).toMatchObject({ isComplete: false });
    if (!isError) continue;
    expect(text).toMatch(/The search was stuck and was ended/);
    return;
  }
});

test('an abort signal stops an endless search', async () => {
  writeTree(root, { b: `${'a'.repeat(5000)}!` });
  const stop = new AbortController();
  const tool = grepTool({ workspace: workspace(), timeoutMs: 2 ** 30 });
  const running = runTool(tool, { pattern: '^(a+)+[b]' }, { signal: stop.signal });
  setImmediate(() => stop.abort(new Error('enough')));
  expect(await running).toMatchObject({ isError: true, text: 'enough' });
});

test('a search that times out returns the matches so far', async () => {
  writeTree(root, Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`d${at}/f`, 'x'])));
  const due: (() => void)[] = [];
  const clock = {
    now: () => 0,
    after: (_ms: number, run: () => void) => {
      due.push(run);
      return () => {};
    },
  };
  const running = runTool(grepTool({ workspace: workspace(), clock }), {
    pattern: 'x',
    limit: 2000,
  });
  while (due.length === 0) await new Promise((resolve) => setImmediate(resolve));
  // The first timer requests a stop. The second one, which terminates the worker, never fires.
  due[0]?.();
  const { text, value } = await running;
  expect(value).toMatchObject({ isComplete: false });
  expect(text).toMatch(/Time was up after 30000 ms/);
});
