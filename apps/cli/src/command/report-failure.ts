import { inspect } from 'node:util';
import { isMillraceError } from '@millrace/core';
import type { Env } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { oneLine } from '../print/printable.ts';

/** What to print of an error, and how to end. */
interface Failure {
  readonly text: string;
  readonly exitCode: number;
}

const maxLength = 1000;

/** An error of ours is one line with the next step. Anything else is a bug, and says so. */
export function describeFailure(error: unknown, env: Env): Failure {
  const isKnown = isMillraceError(error);
  const line = `millrace: ${isKnown ? oneLine(error.message, maxLength) : bugLine(error)}`;
  const details = env['MILLRACE_DEBUG'] === '1' ? `\n${inspect(error)}` : '';
  const isUsage = isKnown && usageCodes.has(error.code);
  return { text: `${line}${details}\n`, exitCode: isUsage ? exitCodes.usage : exitCodes.error };
}

/** What the caller can mend by calling differently. */
const usageCodes: ReadonlySet<string> = new Set(['usage', 'bad_config']);

function bugLine(error: unknown): string {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const way =
    'Run it again with MILLRACE_DEBUG=1 to see where, and report that with what millrace doctor says';
  return `this is a bug of ours: ${oneLine(what, maxLength)}. ${way}`;
}
