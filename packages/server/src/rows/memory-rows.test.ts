import { describe, test } from 'vitest';
import { memoryRows } from './memory-rows.ts';
import { rowCases } from './suite/index.ts';

describe('rows in memory pass the suite', () => {
  const cases = rowCases({
    isDurable: false,
    create: async (clock) => ({ open: async () => memoryRows({ clock }), remove: async () => {} }),
  });
  for (const { name, run } of cases) test(name, run);
});
