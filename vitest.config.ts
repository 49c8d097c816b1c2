import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Resolve workspace packages to their TypeScript source, as tsc and node do.
const conditions = ['@millrace/source'];

// Random tests draw from one seed, which is printed: SEED=… npm test runs the same ones again.
const seed = process.env['SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));
console.log(`random tests: SEED=${seed}`);

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.{ts,tsx}', 'scripts/*.test.ts'],
    setupFiles: ['scripts/random-seed.ts'],
    env: { SEED: seed },
    isolate: false,
    // Many tests wait, for servers and browsers: two at once do well even on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // A guard against hangs, not a measure of speed.
    testTimeout: 120_000,
  },
});
