import { noUsage, type Usage } from '@millrace/core';

/** A rough measure that holds for English and code alike. */
const unitsPerToken = 4;

/**
 * What the provider said was used or, where it did not come to that, what it is likely to have been.
 * The length of the text that was sent is asked only then.
 */
export function completeUsage(
  said: Usage | undefined,
  sentLength: () => number,
  writtenLength: number,
): Usage {
  if (said !== undefined && !said.estimated) return said;
  const output = Math.ceil(writtenLength / unitsPerToken);
  if (said !== undefined) return { ...said, output: Math.max(said.output, output) };
  const input = Math.ceil(sentLength() / unitsPerToken);
  return { ...noUsage, input, output, estimated: true };
}
