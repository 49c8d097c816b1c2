import { spawnSync } from 'node:child_process';
import { describe, type SuiteAPI } from 'vitest';

const { status } = spawnSync('tmux', ['-V']);
const missing = 'tmux is not there, and these tests need a real terminal: npm run test:setup';

/** For tests with keys in a real terminal. Where there is no tmux they are skipped, and that is said. */
export function describeInTmux(): Pick<SuiteAPI, 'concurrent'> {
  if (status === 0) return describe;
  if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(missing);
  console.warn(`Skipped: ${missing}`);
  return { concurrent: describe.concurrent.skip as SuiteAPI['concurrent'] };
}
