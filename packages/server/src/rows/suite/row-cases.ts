import { listCases } from './list-cases.ts';
import { putCases } from './put-cases.ts';
import { type RowSpec, toCase } from './row-spec.ts';
import type { RowCase, RowSubject } from './row-subject.ts';
import { sharedCases } from './shared-cases.ts';

const specs: readonly RowSpec[] = [...putCases, ...listCases, ...sharedCases];

/**
 * What rows have to be, claim by claim, for whichever test runner:
 * `for (const { name, run } of rowCases(subject)) test(name, run)`.
 */
export function rowCases(subject: RowSubject): readonly RowCase[] {
  return specs
    .filter(({ needsDurable = false }) => subject.isDurable || !needsDurable)
    .map((spec) => toCase(spec, subject));
}
