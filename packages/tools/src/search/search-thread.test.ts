import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { childEnv, runs } from '../../../core/src/testing/runs.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { grepTool } from './grep-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const grep = (pattern: string, signal = new AbortController().signal) =>
  runTool(grepTool({ workspace: createWorkspace({ root }) }), { pattern }, { signal });

test('searches at the same time and one after the other get their own results', async () => {
  writeTree(root, { a: 'one', b: 'two', c: 'three' });
  for (let round = 0; round < 3; round++) {
    const results = await Promise.all(['one', 'two', 'three'].map((pattern) => grep(pattern)));
    expect(results.map(({ text }) => text)).toEqual(['a\n1:one', 'b\n1:two', 'c\n1:three']);
  }
});

test('a search after a failed, an aborted and a stopped one is complete', async () => {
  writeTree(root, Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`d${at}/f`, 'x'])));
  const due: (() => void)[] = [];
  const after = (_ms: number, run: () => void) => {
    due.push(run);
    return () => {};
  };
  const tool = grepTool({ workspace: createWorkspace({ root }), clock: { now: () => 0, after } });
  const complete = async () => {
    const { value } = await runTool(tool, { pattern: 'y|x', limit: 2000 });
    expect(value).toEqual({ files: 300, matches: 300, isComplete: true });
  };
  await complete();
  expect(await runTool(tool, { pattern: 'x', path: 'missing' })).toMatchObject({ isError: true });
  await complete();
  const stop = new AbortController();
  const aborted = grep('y', stop.signal);
  setImmediate(() => stop.abort(new Error('enough')));
  expect(await aborted).toMatchObject({ isError: true, text: 'enough' });
  await complete();
  due.length = 0;
  const stopped = runTool(tool, { pattern: 'y' });
  while (due.length === 0) await new Promise((resolve) => setImmediate(resolve));
  // The search receives this request while it runs, or after its end.
  due[0]?.();
  await stopped;
  await complete();
});

test('a program ends by itself after a search', () => {
  writeTree(root, { a: 'one' });
  const program = `
    import { createWorkspace, grepTool } from '@millrace/tools';
    const tool = grepTool({ workspace: createWorkspace({ root: process.argv[1] }) });
    const { value } = await tool.validate({ pattern: 'one' });
    const { output } = await tool.execute(value, { signal: new AbortController().signal });
    process.stdout.write(output.text);
  `;
  const flags = ['--conditions=@millrace/source', '--input-type=module', '--eval', program];
  const options = { encoding: 'utf8', cwd: import.meta.dirname, env: childEnv() } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, root], options);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'a\n1:one', stderr: '' });
});

test('a search finds the same lines as a test of each line, in any files', async () => {
  const piece = fc.constantFrom('needle', 'nee', 'dle', 'n', '\n', '\r\n', '\0', 'ü', ' ', 'x');
  const content = fc
    .tuple(
      fc.constantFrom('', '', '', '\uFEFF', `${'x'.repeat(140_000)}\n`),
      fc.array(piece, { maxLength: 8 }),
      fc.constantFrom(Buffer.alloc(0), Buffer.alloc(0), Buffer.from([0xc3])),
    )
    .map(([head, pieces, tail]) => Buffer.concat([Buffer.from(head + pieces.join('')), tail]));
  const pattern = fc.constantFrom(
    'needle',
    'ne+d[l]e',
    'n[e]+d.e',
    'needle|ü',
    '^dle',
    'le$',
    'n\\s',
    '^$',
  );
  const property = fc.asyncProperty(
    fc.array(content, { minLength: 1, maxLength: 12 }),
    pattern,
    async (contents, source) => {
      root = temporaryFolder();
      const named = contents.map((each, at) => [`f${String(at).padStart(2, '0')}`, each] as const);
      writeTree(root, Object.fromEntries(named));
      const regex = new RegExp(source, 'u');
      const expected = named.flatMap(([name, bytes]) => {
        const lines = bytes.includes(0) ? [] : linesOf(bytes);
        const count = lines.filter((line) => regex.test(line)).length;
        return count === 0 ? [] : [`${name}:${count}`];
      });
      const tool = grepTool({ workspace: createWorkspace({ root }) });
      const { text } = await runTool(tool, { pattern: source, mode: 'count' });
      const [found = ''] = text.split('\n\n');
      expect(found.split('\n').filter((line) => /^f\d\d:/.test(line))).toEqual(expected);
    },
  );
  await fc.assert(property, { numRuns: runs(200) });
});

function linesOf(bytes: Buffer): readonly string[] {
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  return lines.at(-1) === '' && !text.endsWith('\r') ? lines.slice(0, -1) : lines;
}
