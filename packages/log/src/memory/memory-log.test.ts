import { describe, test } from 'vitest';
import { type LogSubject, logCases } from '../suite/index.ts';
import { memoryLog } from './memory-log.ts';

const memory: LogSubject = {
  isDurable: false,
  create: async (clock) => ({ open: async () => memoryLog({ clock }), remove: async () => {} }),
};

describe('the memory log passes the conformance suite', () => {
  for (const { name, run } of logCases(memory)) test(name, run);
});
