// Runs all checks except the tests: npm run lint. The scripts of a lane run one after the other,
// because publint reads the output of the build. The lanes run in parallel, because knip uses only
// one core.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const lanes = [['check', 'build', 'publint'], ['knip']] as const;

/**
 * Runs a script of package.json and prints its output as one block. Returns true if it succeeded.
 */
async function run(script: string): Promise<boolean> {
  const start = Date.now();
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  // The compiler is a Go program. With more memory it needs a fifth less CPU time.
  const compiler = { GOGC: process.env['GOGC'] ?? '400' };
  const child = spawn('npm', ['run', '--silent', script], {
    env: { ...process.env, ...colour, ...compiler },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'failed'} npm run ${script} (${seconds} s)\n${output}`);
  return code === 0;
}

const results = lanes.map(async (scripts) => {
  for (const script of scripts) if (!(await run(script))) return false;
  return true;
});
if ((await Promise.all(results)).includes(false)) process.exitCode = 1;
