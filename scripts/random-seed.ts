import { configureGlobal } from 'fast-check';

configureGlobal({ seed: Number(process.env['SEED']), numRuns: 1000 });
