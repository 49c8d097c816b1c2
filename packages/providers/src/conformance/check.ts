import { MillraceError } from '@millrace/core';

/** A provider does not keep the contract. */
export class ConformanceError extends MillraceError<'not_conformant'> {}

export function check(isTrue: boolean, otherwise: string): asserts isTrue {
  if (!isTrue)
    throw new ConformanceError('not_conformant', `The provider is not conformant: ${otherwise}`);
}

export function checkEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  check(a === b, `${what} is ${a} instead of ${b}`);
}
