import { configureGlobal } from 'fast-check';
import { expect } from 'vitest';
import { runs } from '../packages/core/src/testing/runs.ts';

// All random tests use the same seed, which vitest.config.ts prints.
configureGlobal({ seed: Number(process.env['SEED']), numRuns: runs(1000) });

// Slow terminal tests draw thousands of frames. They use the production build of React, which takes
// half the time. For other tests, NODE_ENV stays `test`, because some frameworks behave differently
// with `production`.
const isTerminal = expect.getState().testPath?.includes('/apps/cli/') === true;
process.env['NODE_ENV'] =
  process.env['MILLRACE_TEST'] === 'rest' && isTerminal ? 'production' : 'test';
