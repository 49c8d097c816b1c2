import { configureGlobal } from 'fast-check';

// SEED is set by the test configuration, so that a failed run can be repeated.
configureGlobal({ seed: Number(process.env['SEED']), numRuns: 1000 });
