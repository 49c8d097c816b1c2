import { configureGlobal } from 'fast-check';
import { runs } from '../packages/core/src/testing/runs.ts';

// All random tests draw from one seed, which vitest.config.ts prints.
configureGlobal({ seed: Number(process.env['SEED']), numRuns: runs(1000) });
