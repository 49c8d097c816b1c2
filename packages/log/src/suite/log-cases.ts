import { type CaseSpec, toCase } from './case-spec.ts';
import { appendCases } from './cases/append.ts';
import { blobCases } from './cases/blobs.ts';
import { closingCases } from './cases/closing.ts';
import { commandCases } from './cases/commands.ts';
import { deleteCases } from './cases/delete.ts';
import { followCases } from './cases/follow.ts';
import { followEndCases } from './cases/follow-ends.ts';
import { forkCases } from './cases/fork.ts';
import { leaseCases } from './cases/lease.ts';
import { listCases } from './cases/list.ts';
import { mistakeCases } from './cases/mistakes.ts';
import { neighbourCases } from './cases/neighbours.ts';
import { producerCases } from './cases/producers.ts';
import { readCases } from './cases/read.ts';
import { redactCases } from './cases/redact.ts';
import { restoreCases } from './cases/restore.ts';
import { retainCases } from './cases/retain.ts';
import { settleCases } from './cases/settle.ts';
import { snapshotCases } from './cases/snapshot.ts';
import type { LogCase, LogSubject } from './log-subject.ts';

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
  ...redactCases,
  ...restoreCases,
  ...deleteCases,
  ...snapshotCases,
  ...retainCases,
  ...blobCases,
  ...listCases,
  ...closingCases,
  ...mistakeCases,
  ...neighbourCases,
];

/**
 * What every log has to be, claim by claim, for whichever test runner:
 * `for (const { name, run } of logCases(subject)) test(name, run)`.
 */
export function logCases(subject: LogSubject): readonly LogCase[] {
  return specs
    .filter(({ needsDurable = false }) => subject.isDurable || !needsDurable)
    .map((spec) => toCase(spec, subject));
}
