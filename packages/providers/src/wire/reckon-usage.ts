import { noUsage, type Usage } from '@millrace/core';
import type { HttpRequest } from './wire.ts';

/** A rough measure that holds for English and code alike. */
const unitsPerToken = 4;

/** What the provider said was used or, where it did not come to that, what it is likely to have been. */
export function completeUsage(
  said: Usage | undefined,
  http: HttpRequest | undefined,
  writtenLength: number,
): Usage {
  if (said !== undefined && !said.estimated) return said;
  const input =
    http === undefined ? 0 : Math.ceil(JSON.stringify(http.body).length / unitsPerToken);
  const output = Math.ceil(writtenLength / unitsPerToken);
  if (said === undefined) return { ...noUsage, input, output, estimated: true };
  return { ...said, output: Math.max(said.output, output) };
}
