import { configureGlobal } from 'fast-check';
import { expect } from 'vitest';
import { runs } from '../packages/core/src/testing/runs.ts';

// All random tests use numbers from one seed, which vitest.config.ts prints.
configureGlobal({ seed: Number(process.env['SEED']), numRuns: runs(1000) });

// The slow tests of the terminal draw thousands of frames. They use the production build of React,
// which takes half the time. Other tests keep `test`, because the frameworks that they start would
// misread `production`.
const isTerminal = expect.getState().testPath?.includes('/apps/cli/') === true;
process.env['NODE_ENV'] =
  process.env['MILLRACE_TEST'] === 'rest' && isTerminal ? 'production' : 'test';
