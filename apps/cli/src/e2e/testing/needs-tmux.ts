import { spawnSync } from 'node:child_process';
import { describe, type SuiteAPI } from 'vitest';
import { isMissing } from '../../../../../packages/log/src/testing/external-programs.ts';

const { status } = spawnSync('tmux', ['-V']);
const missing = 'tmux is not there, and these tests need a real terminal: npm run test:setup';

/** For tests with keys in a real terminal. Where there is no tmux they are skipped, and that is said. */
export function describeInTmux(): Pick<SuiteAPI, 'concurrent'> {
  if (!isMissing(status === 0, missing)) return describe;
  return { concurrent: describe.concurrent.skip as SuiteAPI['concurrent'] };
}
