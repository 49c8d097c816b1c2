import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseArgs } from '../args/parse-args.ts';
import type { EvalArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { evalCommand } from './eval-command.ts';

const folder = temporaryFolder('evals');
const source = (path: string) =>
  JSON.stringify(new URL(`../../../../packages/${path}`, import.meta.url).href);
let count = 0;
let store: string;
let asked: string;
beforeEach(() => {
  count++;
  store = join(folder(), `${count}.db`);
  asked = join(folder(), `asked-${count}`);
});

/** Writes a module with an experiment. Each request of a model appends a line to a file. */
function moduleOf(fields = '', name = `experiment-${count}.ts`): string {
  const path = join(folder(), name);
  writeFileSync(
    path,
    `import { appendFileSync } from 'node:fs';
import { createAgent } from ${source('agent/src/index.ts')};
import { matchesText } from ${source('agent/src/evals/index.ts')};
import { scriptedProvider } from ${source('providers/src/scripted/index.ts')};
const costs = [{ amount: '0.25', currency: 'USD' }];
const answer = (text) => ({ items }) => {
  appendFileSync(${JSON.stringify(asked)}, 'request\\n');
  const question = items.at(-1).parts[0].text;
  if (question === 'fail') return { content: { parts: [] }, fault: { type: 'error', after: 0, error: 'invalid_request' } };
  return { content: { parts: [text ?? question] }, usage: { costs } };
};
const agent = (log, model, text) => createAgent({
  log, provider: scriptedProvider(Array.from({ length: 50 }, () => answer(text)), { model }),
});
export default ({ log }) => ({
  name: 'echo',
  variants: { fixed: agent(log, 'fixed', 'a'), echo: agent(log, 'echo') },
  cases: [{ id: 'one', input: 'a', expected: 'a' }, { id: 'two', input: 'b', expected: 'b' }],
  scorers: [matchesText({ name: 'correct' })],
  ${fields}
});
`,
  );
  return path;
}

async function run(...argv: readonly string[]) {
  const args = parseArgs(['eval', ...argv]) as EvalArgs;
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const options = { config: { store }, env: {}, cwd: folder() };
  const code = await evalCommand({ ...options, args, stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const requests = () => (existsSync(asked) ? readFileSync(asked, 'utf8').split('\n').length - 1 : 0);

test('an experiment prints its scores with intervals and costs, and is paid once', async () => {
  const { code, stdout } = await run(moduleOf());
  expect(stdout.split('\n')).toEqual([
    'variant  score     mean     interval                 difference',
    'fixed    correct  0.500  0.095–0.905',
    'echo     correct  1.000  0.342–1.000  +0.500 (-1.000 to +1.000)',
    '',
    'variant  runs  failed      cost  cost of scores  mean time',
    expect.stringMatching(/^fixed {7}2 {7}0 {2}0\.50 USD +\d+\.\d\d s$/),
    expect.stringMatching(/^echo {8}2 {7}0 {2}0\.50 USD +\d+\.\d\d s$/),
    '',
    'echo: 4 runs: 4 finished, 0 failed, 1.00 USD.',
    '',
  ]);
  expect(code).toBe(exitCodes.done);
  expect(requests()).toBe(4);
  const again = await run(moduleOf());
  expect(again.stdout).toContain('4 runs: 4 finished, 0 failed, 4 from the log, 1.00 USD.');
  expect(requests()).toBe(4);
  expect((await run(moduleOf(), '--repeats', '2')).stdout).toContain('8 finished');
  expect(requests()).toBe(8);
});

test('a gate fails the command, and reports are written for machines and pull requests', async () => {
  const outputs = ['xml', 'json', 'md', 'html'].map((type) =>
    join(folder(), `out-${count}/r.${type}`),
  );
  const flags = outputs.flatMap((path) => ['-o', path]);
  const failed = await run(moduleOf(), '--fail-under', 'correct=0.8', ...flags, '--json');
  expect(failed.code).toBe(exitCodes.error);
  const [junit = '', json = '', markdown = '', html = ''] = outputs.map((path) =>
    readFileSync(path, 'utf8'),
  );
  expect(junit).toContain('<testsuite name="millrace eval" tests="6" failures="1" errors="0">');
  expect(junit).toContain(
    '<failure message="Too low: correct of fixed is 0.500, and must be at least 0.8">',
  );
  expect(json).toBe(failed.stdout);
  // Reports contain texts of sessions, so only their owner can read them.
  for (const path of outputs) expect(statSync(path).mode & 0o777).toBe(0o600);
  const before = requests();
  await expect(run(moduleOf(), '--repeats', '2', ...flags)).rejects.toThrow(
    `${outputs[0]} exists already. Replace it with --force`,
  );
  expect(requests()).toBe(before);
  expect(readFileSync(outputs[1] ?? '', 'utf8')).toBe(json);
  chmodSync(outputs[1] ?? '', 0o644);
  expect((await run(moduleOf(), '--force', ...flags)).code).toBe(exitCodes.done);
  expect(readFileSync(outputs[1] ?? '', 'utf8')).not.toBe(json);
  expect(statSync(outputs[1] ?? '').mode & 0o777).toBe(0o600);
  expect(JSON.parse(json)).toMatchObject({
    isComplete: true,
    failures: [{ variant: 'fixed', mean: 0.5 }],
  });
  expect(markdown).toContain('| echo | correct | 1.000 |');
  expect(html).toContain('<td>correct</td><td><span class="value" title="eval/echo/fixed/two/');
  // The case in which the variants differ comes first.
  expect(html.indexOf('<td>two</td>')).toBeLessThan(html.indexOf('<td>one</td>'));
  expect(markdown).toContain('**Too low: correct of fixed is 0.500');
  expect((await run(moduleOf(), '--fail-under', '0.5')).code).toBe(exitCodes.done);
  expect((await run(moduleOf(), '--fail-under', 'echo:correct=1')).code).toBe(exitCodes.done);
  await expect(run(moduleOf(), '--fail-under', 'wrong=1')).rejects.toMatchObject({
    code: 'bad_option',
  });
});

test('a failed run is shown, and is run again with --retry-failed', async () => {
  const cases = "cases: [{ id: 'one', input: 'fail', expected: 'a' }],";
  const { code, stdout, stderr } = await run(moduleOf(cases));
  expect(stdout).toContain('2 runs: 0 finished, 2 failed.');
  expect(stderr).toContain('Run 1 of echo in case one failed:');
  // All runs have ended, and their score is 0. Only a gate makes this a failure.
  expect(code).toBe(exitCodes.done);
  const before = requests();
  await run(moduleOf(cases));
  expect(requests()).toBe(before);
  await run(moduleOf(cases), '--retry-failed');
  expect(requests()).toBeGreaterThan(before);
});

test('the cost has a limit', async () => {
  const { code, stdout } = await run(moduleOf(), '--max-cost', '0.50', '--concurrency', '1');
  expect(stdout).toContain(
    '2 open, 0.50 USD. The cost reached its limit. Run the command again to continue.',
  );
  expect(code).toBe(exitCodes.limit);
  expect(requests()).toBe(2);
});

test('a stopped experiment exits with 3, and texts of answers cannot become markup', async () => {
  const stopped = new AbortController();
  stopped.abort();
  const args = parseArgs(['eval', moduleOf()]) as EvalArgs;
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const options = { config: { store }, env: {}, cwd: folder(), signal: stopped.signal };
  expect(await evalCommand({ ...options, args, stdout, stderr })).toBe(exitCodes.aborted);
  expect(stdout.text).toContain('4 open. It was stopped. Run the command again to continue.');
  expect(requests()).toBe(0);
  const report = join(folder(), `hostile-${count}.html`);
  const scorers = "scorers: [{ name: 'x', score: () => ({ value: 1, reason: '<script>\"' }) }],";
  await run(moduleOf(scorers, 'hostile.ts'), '-o', report);
  expect(readFileSync(report, 'utf8')).toContain('&lt;script&gt;&quot;');
  expect(readFileSync(report, 'utf8')).not.toContain('<script');
});

test('mistakes have a message with the fix', async () => {
  await expect(run('missing.ts')).rejects.toThrow('the file does not exist');
  writeFileSync(join(folder(), 'empty.ts'), 'export const a = 1;');
  await expect(run('empty.ts')).rejects.toThrow('export default ({ log }) =>');
  writeFileSync(join(folder(), 'agent.ts'), "export default { name: 'agent', run() {} };");
  await expect(run('agent.ts')).rejects.toThrow('its default export is not an experiment');
  await expect(run(moduleOf('repeat: 3,', 'typo.ts'))).rejects.toThrow('Did you mean repeats?');
  await expect(run(moduleOf(), '--concurrency', '65')).rejects.toThrow('concurrency');
  expect(() => parseArgs(['eval'])).toThrow('millrace eval <file>');
  expect(() => parseArgs(['eval', 'a.ts', 'b.ts'])).toThrow();
  expect(() => parseArgs(['eval', 'a.ts', '--fail-under', '80'])).toThrow('from 0 to 1');
  expect(() => parseArgs(['eval', 'a.ts', '-o', 'a.txt'])).toThrow('must end in');
  expect(() => parseArgs(['eval', 'a.ts', '--mode', 'live'])).toThrow();
});
