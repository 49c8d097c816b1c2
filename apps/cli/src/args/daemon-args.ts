import type { AttachArgs, PsArgs, ShareArgs, TopArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { type CommandLine, flagText, hasFlag, plainArgs, sharedArgs } from './command-line.ts';
import { tooManyOperands } from './sub-command-args.ts';

export function psArgs(line: CommandLine): PsArgs {
  if (line.operands.length > 0) throw tooManyOperands('millrace ps');
  return { ...sharedArgs(line), command: 'ps', json: hasFlag(line, 'json') };
}

export function topArgs(line: CommandLine): TopArgs {
  if (line.operands.length > 0) throw tooManyOperands('millrace top');
  return { ...sharedArgs(line), command: 'top' };
}

export function attachArgs(line: CommandLine): AttachArgs {
  const session = { session: optionalSession(line, 'attach'), ...plainArgs(line) };
  return { ...sharedArgs(line), command: 'attach', ...session };
}

export function shareArgs(line: CommandLine): ShareArgs {
  return {
    ...{ ...sharedArgs(line), command: 'share', session: optionalSession(line, 'share') },
    canWrite: hasFlag(line, 'write'),
    seconds: parseTime(flagText(line, 'for') ?? '1h'),
    url: parseUrl(flagText(line, 'url')),
  };
}

function optionalSession({ operands }: CommandLine, command: string): string | undefined {
  if (operands.length > 1) throw tooManyOperands(`millrace ${command}`);
  return operands[0];
}

const secondsOf: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 24 * 3600 };
/** The longest lifetime of a token that the server accepts, in seconds. */
const maxSeconds = 366 * 24 * 3600;

/**
 * Returns the number of seconds of a text such as `30m`, `4h` or `7d`. `place` is the flag or the command whose text it
 * is. Default: `--for`.
 */
export function parseTime(text: string, place = '--for'): number {
  const [, amount = '0', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const seconds = Number(amount) * (secondsOf[unit] ?? 0);
  if (seconds > 0 && seconds <= maxSeconds) return seconds;
  throw new UsageError(`${place} takes minutes, hours or days: 30m, 4h or 7d, at most 366d`);
}

function parseUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const isWeb = /^https?:\/\//i.test(text) && URL.canParse(text);
  if (isWeb && !/[?#]/.test(text)) return text;
  throw new UsageError('--url takes an address without ? and #: https://laptop.example.com');
}
