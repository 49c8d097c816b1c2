import { describe, test } from 'vitest';
import { logCases } from '../log-cases.ts';
import type { LogSubject } from '../log-subject.ts';
import { ReferenceLog } from './reference-log.ts';
import { ReferenceStore } from './reference-store.ts';

const subject: LogSubject = {
  isDurable: true,
  async create(clock) {
    const store = new ReferenceStore(clock);
    return { open: async () => new ReferenceLog(store), remove: async () => {} };
  },
};

describe('the reference log passes the conformance suite', () => {
  for (const { name, run } of logCases(subject)) test(name, run);
});
