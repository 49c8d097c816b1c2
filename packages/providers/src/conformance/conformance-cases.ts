import {
  answerCases,
  completeCases,
  failureCases,
  lengthCase,
  reasoningCase,
} from './answer-cases.ts';
import { cancellationCases } from './cancellation-cases.ts';
import type { ConformanceCase, ConformanceSubject } from './subject.ts';

/**
 * Returns one test case for each requirement that every provider must meet. The cases work with any test
 * runner.
 *
 * @example
 * for (const { name, run } of conformanceCases(subject)) test(name, run);
 */
export function conformanceCases(subject: ConformanceSubject): readonly ConformanceCase[] {
  const can = (what: 'reasoning' | 'length') => !subject.limitations?.includes(what);
  return [
    ...answerCases(subject),
    ...(can('reasoning') ? [reasoningCase(subject)] : []),
    ...(can('length') ? [lengthCase(subject)] : []),
    ...failureCases(subject),
    ...completeCases(subject),
    ...cancellationCases(subject),
  ];
}
