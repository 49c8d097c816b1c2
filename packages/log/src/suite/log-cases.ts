import { closingCases } from './cases/lifecycle/close-log.ts';
import { mistakeCases } from './cases/lifecycle/invalid-calls.ts';
import { neighbourCases } from './cases/lifecycle/shared-store.ts';
import { followCases } from './cases/read/follow.ts';
import { followEndCases } from './cases/read/follow-ends.ts';
import { listCases } from './cases/read/list.ts';
import { readCases } from './cases/read/read.ts';
import { snapshotCases } from './cases/read/snapshot.ts';
import { deleteCases } from './cases/rewrite/delete.ts';
import { forkCases } from './cases/rewrite/fork.ts';
import { longForkCases } from './cases/rewrite/long-fork.ts';
import { redactCases } from './cases/rewrite/redact.ts';
import { restoreCases } from './cases/rewrite/restore.ts';
import { retainCases } from './cases/rewrite/retain.ts';
import { settleCases } from './cases/rewrite/settle.ts';
import { storedSnapshotCases } from './cases/rewrite/stored-snapshots.ts';
import { appendCases } from './cases/write/append.ts';
import { blobCases } from './cases/write/blobs.ts';
import { commandCases } from './cases/write/commands.ts';
import { leaseCases } from './cases/write/lease.ts';
import { producerCases } from './cases/write/producers.ts';
import { type CaseSpec, type LogCase, type LogSubject, toCase } from './log-subject.ts';

const specs: readonly CaseSpec[] = [
  ...appendCases,
  ...leaseCases,
  ...producerCases,
  ...commandCases,
  ...readCases,
  ...followCases,
  ...followEndCases,
  ...settleCases,
  ...forkCases,
  ...longForkCases,
  ...redactCases,
  ...restoreCases,
  ...deleteCases,
  ...snapshotCases,
  ...storedSnapshotCases,
  ...retainCases,
  ...blobCases,
  ...listCases,
  ...closingCases,
  ...mistakeCases,
  ...neighbourCases,
];

/**
 * Returns the conformance tests that every log implementation must pass. Any test runner can run them.
 *
 * @example for (const { name, run } of logCases(subject)) test(name, run);
 */
export function logCases(subject: LogSubject): readonly LogCase[] {
  return specs
    .filter(({ needsDurable = false }) => subject.isDurable || !needsDurable)
    .map((spec) => toCase(spec, subject));
}
