import { configureGlobal } from 'fast-check';
import { expect } from 'vitest';
import { runs } from '../packages/core/src/testing/runs.ts';

// All random tests draw from one seed, which vitest.config.ts prints.
configureGlobal({ seed: Number(process.env['SEED']), numRuns: runs(1000) });

// The slow tests of the terminal draw thousands of frames. They use the build of React that is shipped,
// which takes half the time. Other frameworks would misread this variable in the tests that start them.
const isTerminal = expect.getState().testPath?.includes('/apps/cli/') === true;
process.env['NODE_ENV'] =
  process.env['MILLRACE_TEST'] === 'rest' && isTerminal ? 'production' : 'test';
