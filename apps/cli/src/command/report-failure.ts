import { inspect } from 'node:util';
import { isMillraceError } from '@millrace/core';
import type { Env } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { oneLine } from '../text/cells/printable.ts';

/** The text to print for an error, and the exit code. */
interface Failure {
  readonly text: string;
  readonly exitCode: number;
}

const maxLength = 1000;

/**
 * Formats an error for the user. A `MillraceError` becomes one line with advice. All other errors
 * are reported as bugs.
 */
export function describeFailure(error: unknown, env: Env): Failure {
  const isKnown = isMillraceError(error);
  const line = `millrace: ${isKnown ? oneLine(error.message, maxLength) : bugLine(error)}`;
  const details = env['MILLRACE_DEBUG'] === '1' ? `\n${inspect(error)}` : '';
  const exitCode = isKnown ? exitCodeOfError(error.code) : exitCodes.error;
  return { text: `${line}${details}\n`, exitCode };
}

/** Codes of errors that the user can fix by changing the command or the configuration. */
const usageCodes: ReadonlySet<string> = new Set(['usage', 'bad_config', 'no_store']);

function exitCodeOfError(code: string): number {
  if (code === 'stopped') return exitCodes.aborted;
  return usageCodes.has(code) ? exitCodes.usage : exitCodes.error;
}

function bugLine(error: unknown): string {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const way =
    'Run it again with MILLRACE_DEBUG=1 to see the stack, and report it with the output of millrace doctor';
  return `this is a bug in millrace: ${oneLine(what, maxLength)}. ${way}`;
}
