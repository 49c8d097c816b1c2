import type {
  DoctorArgs,
  HelpTopic,
  InspectArgs,
  ReplayArgs,
  SessionsAction,
  SessionsArgs,
} from './args.ts';
import { isGiven, sharedArgs, textOf } from './flag-values.ts';
import type { FlagName } from './flags.ts';
import { nearestName } from './nearest-name.ts';
import type { Words } from './read-words.ts';
import { UsageError } from './usage-error.ts';

const actions: readonly SessionsAction[] = ['list', 'show', 'delete', 'export', 'import'];

export function sessionsArgs(given: Words): SessionsArgs {
  const [word = 'list', ...operands] = given.words;
  const action = actions.find((name) => name === word) ?? unknownAction(word);
  checkOperands(action, operands);
  checkFlags(action, given);
  return {
    ...sharedArgs(given),
    command: 'sessions',
    action,
    operands,
    all: isGiven(given, 'all'),
    json: isGiven(given, 'json'),
    output: textOf(given, 'output'),
    yes: isGiven(given, 'yes'),
  };
}

function unknownAction(word: string): never {
  const near = nearestName(word, actions);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  throw new UsageError(`millrace sessions cannot do that.${hint} It can: ${actions.join(', ')}`);
}

/** What some actions alone take; `flags` knows of the command as a whole. */
const flagActions: Readonly<Partial<Record<FlagName, readonly SessionsAction[]>>> = {
  all: ['list'],
  json: ['list', 'show'],
  output: ['export'],
  yes: ['delete'],
};

function checkFlags(action: SessionsAction, { flags }: Words): void {
  const stray = flags.find(({ name }) => flagActions[name]?.includes(action) === false);
  if (stray === undefined) return;
  const { name } = stray;
  const way = `It goes with ${flagActions[name]?.join(', ')}`;
  throw new UsageError(`--${name} is not for millrace sessions ${action}. ${way}`, { flag: name });
}

function checkOperands(action: SessionsAction, operands: readonly string[]): void {
  const command = `millrace sessions ${action}`;
  const isMore =
    operands.length > (action === 'list' ? 0 : action === 'show' ? 1 : operands.length);
  if (isMore) throw tooMuch(command);
  const isNone = operands.length === 0 || operands.includes('');
  if (isNone && action !== 'list' && action !== 'import') throw noId(command);
}

export function replayArgs(given: Words): ReplayArgs {
  const session = onlySession(given, 'replay');
  const json = isGiven(given, 'json');
  return { ...sharedArgs(given), command: 'replay', session, speed: speedOf(given), json };
}

function speedOf(given: Words): number {
  const value = textOf(given, 'speed') ?? '1';
  if (/^(max|infinity)$/i.test(value)) return Number.POSITIVE_INFINITY;
  const speed = /^\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : 0;
  if (speed > 0) return speed;
  throw new UsageError('--speed takes a number above 0, or max: --speed 4');
}

export function inspectArgs(given: Words): InspectArgs {
  const session = onlySession(given, 'inspect');
  return { ...sharedArgs(given), command: 'inspect', session, json: isGiven(given, 'json') };
}

export function doctorArgs(given: Words): DoctorArgs {
  if (given.words.length > 0) throw tooMuch('millrace doctor');
  return { ...sharedArgs(given), command: 'doctor', json: isGiven(given, 'json') };
}

function onlySession({ words }: Words, command: HelpTopic): string {
  const [session, ...more] = words;
  if (!session) throw noId(`millrace ${command}`);
  if (more.length > 0) throw tooMuch(`millrace ${command}`);
  return session;
}

function noId(command: string): UsageError {
  const way = `${command} <id>, or ${command} last. millrace sessions lists them`;
  return new UsageError(`${command} needs to know which session: ${way}`);
}

function tooMuch(command: string): UsageError {
  const way = `See ${command.split(' ').slice(0, 2).join(' ')} --help`;
  return new UsageError(`${command} was given more words than it takes. ${way}`);
}
