import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SessionLookupError } from '../contract/errors.ts';

/** An operand of a command that takes sessions and files. */
interface Operand {
  readonly operand: string;
  readonly cwd: string;
  /** The advice if the operand is a file that exists. Default: none. */
  readonly ofFile?: string | undefined;
}

/**
 * True if the operand has the form of a file: a path that starts with `./`, `../`, `/` or a drive, or a name that
 * ends in `.jsonl`. A file of the folder whose name is an id, such as `eval/a`, or `last`, must not take the place of
 * a session.
 */
export function namesFile(operand: string): boolean {
  return /^(?:\.{0,2}|[a-z]:)[/\\]|\.jsonl$/i.test(operand);
}

export async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

/** Adds to the error of an unknown session what is known about a file of that name. */
export async function addFileAdvice(
  error: unknown,
  { operand, cwd, ofFile }: Operand,
): Promise<unknown> {
  if (!(error instanceof SessionLookupError) || error.code !== 'no_such_session') return error;
  const path = resolve(cwd, operand);
  const isFile = await fileExists(path);
  if (!isFile && !namesFile(operand)) return error;
  const advice = isFile ? ofFile : `There is no file ${path} either`;
  if (advice === undefined) return error;
  const message = `${error.message}. ${advice}`;
  return new SessionLookupError(error.code, message, error.place, { cause: error });
}
