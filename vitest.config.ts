import { availableParallelism, loadavg } from 'node:os';
import { defineConfig } from 'vitest/config';

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

// Tests that need a service, a browser, a terminal or minutes.
const slow = '**/*.full.test.{ts,tsx}';
const all = ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.{ts,tsx}', 'scripts/*.test.ts'];

/** `npm test` is the default mode; `npm run test:full` is the mode `full`. */
export default defineConfig(({ mode }) => {
  const isFull = mode === 'full';
  console.log(`${isFull ? 'all' : 'quick'} tests; random tests: SEED=${seed}`);
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      include: all,
      exclude: ['**/node_modules/**', '**/dist/**', ...(isFull ? [] : [slow])],
      setupFiles: ['scripts/random-seed.ts'],
      env: {
        SEED: seed,
        MILLRACE_TEST: isFull ? 'full' : 'quick',
        MILLRACE_TEST_PATIENCE: String(patience),
      },
      isolate: false,
      // Many tests wait for servers and browsers, so two workers also help on two cores.
      maxWorkers: Math.max(2, cores - 1),
      testTimeout: 300_000 * patience,
      hookTimeout: 300_000 * patience,
    },
  };
});
