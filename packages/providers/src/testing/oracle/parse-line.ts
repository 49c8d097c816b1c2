import type { JsonValue } from '@millrace/core';
import { parseReference } from '../../../../core/src/testing/parse-reference.ts';

/**
 * The value of a line, or undefined if it is not JSON. Lines with an escape are read around the fault
 * of the engine's JSON.parse with escaped keys, since the oracle must not share it with what it judges.
 */
export function parseLine(line: string): JsonValue | undefined {
  try {
    return line.includes('\\') ? parseReference(line) : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** What a tool call's arguments say: nothing means no arguments. */
export function parseArguments(text: string): JsonValue | undefined {
  return text === '' ? {} : parseLine(text);
}

/** Some gateways wrap a comment as data. */
export function isComment(line: string): boolean {
  return line.startsWith(':');
}
