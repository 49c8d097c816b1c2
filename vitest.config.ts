import { availableParallelism, loadavg } from 'node:os';
import { defineConfig } from 'vitest/config';
import { bundledWorkers } from './scripts/bundled-workers.ts';
import { jobFiles } from './scripts/job-files.ts';
import { sharedFolder } from './scripts/process-folder.ts';
import { SlowFirst } from './scripts/slow-first.ts';

// Resolve workspace packages to their TypeScript source, as tsc and node do.
const conditions = ['@millrace/source'];

// All random tests draw from one seed, which is printed: SEED=… npm test repeats a run.
const seed = process.env['SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));

// Timeouts of tests only protect against hangs. They grow with the load of the machine.
const cores = availableParallelism();
const [load = 0] = loadavg();
const patience = Number(
  process.env['MILLRACE_TEST_PATIENCE'] ?? Math.max(1, Math.ceil(load / cores)),
);

// All tests of a run share what they build. In watch mode the sources change during the run.
const isRun = process.argv.includes('run');
if (isRun) process.env['MILLRACE_TEST_RUN'] ??= `${process.pid}_${Date.now()}`;

const all = ['{packages,apps}/*/src/**/*.test.{ts,tsx}', 'scripts/*.test.ts'];
// Tests that need a service, a browser, a terminal or minutes.
const slow = '**/*.full.test.{ts,tsx}';
// Each test of these files is one attack, and passes if it is stopped.
const attacks = ['{packages,apps}/*/src/**/*.attack*.test.{ts,tsx}', 'scripts/*.attack*.test.ts'];
// Tests against real model servers, which `npm run test:setup -- --models` installs.
const real = ['scripts/real-servers/*.real.test.ts'];
const outside = ['**/node_modules/**', '**/dist/**'];

/**
 * The files of each mode. `npm test` runs the default mode, with at most 30 runs of each property.
 * `npm run test:rest` runs the slow files that `npm test` leaves out, with at most 50 runs of each property
 * and a few of each list of slow cases. `npm run test:job` runs the slow files that have a job of their
 * own, in the same way. CI runs all three for each change. `npm run
 * test:full` runs everything with all runs of each property, and CI runs it every night. `npm run
 * attack` runs the attacks. `npm run test:real` runs the tests against real model servers.
 */
const filesOf: Readonly<Record<string, () => { include: string[]; exclude: string[] }>> = {
  quick: () => ({ include: all, exclude: [...outside, slow] }),
  full: () => ({ include: all, exclude: outside }),
  attack: () => ({ include: attacks, exclude: outside }),
  real: () => ({ include: real, exclude: outside }),
  rest: () => ({ include: [slow], exclude: [...outside, ...jobFiles] }),
  job: () => ({ include: [...jobFiles], exclude: outside }),
};

export default defineConfig(({ mode }) => {
  const name = mode in filesOf ? mode : 'quick';
  const isQuick = name === 'quick';
  console.log(`${name} tests; random tests: SEED=${seed}`);
  return {
    plugins: isRun ? [bundledWorkers()] : [],
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    // See NODE_ENV in scripts/random-seed.ts.
    ...(name === 'rest' && { oxc: { jsx: { development: false } } }),
    test: {
      ...filesOf[name]?.(),
      ...(name === 'attack' && { reporters: ['./scripts/attack-reporter.ts'] }),
      setupFiles: ['scripts/random-seed.ts'],
      env: {
        SEED: seed,
        MILLRACE_TEST: name,
        MILLRACE_TEST_PATIENCE: String(patience),
        // Tests start hundreds of processes from the sources. Each of them compiles only what no earlier
        // one has compiled.
        NODE_COMPILE_CACHE: sharedFolder('compile-cache'),
      },
      isolate: false,
      sequence: { sequencer: SlowFirst },
      // Many slow tests wait for servers, terminals and browsers, so more workers than cores help.
      maxWorkers: isQuick ? Math.max(4, cores - 1) : cores * 3,
      testTimeout: 300_000 * patience,
      hookTimeout: 300_000 * patience,
      // The default is 10 s. On a busy machine, the end of a process with a gigabyte of memory needs longer.
      teardownTimeout: 60_000 * patience,
      // The default of Vitest is one second, and a page that loads on a busy machine needs longer.
      expect: { poll: { timeout: 60_000 * patience } },
    },
  };
});
