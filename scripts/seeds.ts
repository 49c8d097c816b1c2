// Runs every file with random tests again with new seeds, and prints each seed that fails:
//   npm run seeds -- 200 [--first 1] [path ...]
// One seed takes about a minute. A path is a part of a file name, as in vitest.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { first: { type: 'string' } },
});
const [count = '200', ...paths] = positionals;
const first = Number(values.first ?? Math.floor(Math.random() * 2 ** 30));
if (!(Number.isInteger(Number(count)) && Number(count) > 0 && Number.isInteger(first))) {
  console.error('Usage: npm run seeds -- <number of seeds> [--first <seed>] [path ...]');
  process.exit(2);
}

const files = globSync('{packages,apps,scripts}/**/*.test.{ts,tsx}', {
  exclude: ['**/node_modules/**', '**/dist/**', '**/*.full.test.*'],
})
  .filter((file) => paths.length === 0 || paths.some((path) => file.includes(path)))
  .filter((file) => /\bfc\.(?:assert|check)\b/.test(readFileSync(file, 'utf8')))
  .toSorted();
if (files.length === 0) {
  console.error(`No file with random tests matches ${paths.join(', ')}`);
  process.exit(2);
}

console.log(`${files.length} files, ${count} seeds from ${first}`);
const failures: string[] = [];
for (let seed = first; seed < first + Number(count); seed++) {
  const failed = failedFiles(String(seed));
  for (const file of failed) failures.push(`SEED=${seed} npx vitest run ${file}`);
  const found = failed.length === 0 ? '' : `: ${failed.join(', ')}`;
  console.log(`seed ${seed}: ${failed.length} failed${found}`);
}
console.log(failures.length === 0 ? 'No seed failed.' : `\nRepeat with:\n${failures.join('\n')}`);
process.exitCode = failures.length === 0 ? 0 : 1;

/** Runs all files with one seed. Returns the files that failed. */
function failedFiles(seed: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-seeds-'));
  const report = join(folder, 'report.json');
  try {
    const args = ['vitest', 'run', '--reporter=json', `--outputFile=${report}`, ...files];
    const env = { ...process.env, SEED: seed };
    const { status, stderr } = spawnSync('npx', args, {
      encoding: 'utf8',
      env,
      maxBuffer: 2 ** 28,
    });
    if (status === 0) return [];
    if (!existsSync(report)) throw new Error(`vitest wrote no report for seed ${seed}: ${stderr}`);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      readonly testResults: readonly TestFile[];
    };
    const failed = testResults.filter((file) => file.status !== 'passed').map(({ name }) => name);
    return failed.map((name) => files.find((file) => name.endsWith(file)) ?? name);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface TestFile {
  readonly name: string;
  readonly status: string;
}
