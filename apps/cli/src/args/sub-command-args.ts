import type {
  DoctorArgs,
  HelpTopic,
  InspectArgs,
  ReplayArgs,
  ServeArgs,
  SessionsAction,
  SessionsArgs,
} from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { isGiven, sharedArgs, textOf, type Words } from './command-line.ts';
import type { FlagName } from './flags.ts';
import { nearestName } from './nearest-name.ts';

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

export function serveArgs(given: Words): ServeArgs {
  if (given.words.length > 0) {
    const way = 'Agents are named with --agents <file>. See millrace serve --help';
    throw new UsageError(`millrace serve was given more words than it takes. ${way}`);
  }
  return {
    command: 'serve',
    cwd: textOf(given, 'cwd'),
    port: portOf(given),
    host: textOf(given, 'host'),
    agents: textOf(given, 'agents'),
    data: textOf(given, 'data'),
    store: textOf(given, 'store'),
    bus: textOf(given, 'bus'),
    log: logOf(given),
    token: textOf(given, 'token'),
    otlp: textOf(given, 'otlp'),
    yes: isGiven(given, 'yes'),
  };
}

const maxPort = 65_535;

function portOf(given: Words): number | undefined {
  const value = textOf(given, 'port');
  if (value === undefined) return undefined;
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (port <= maxPort) return port;
  throw new UsageError(`--port takes a number from 0 to ${maxPort}, such as --port 8080`);
}

function logOf(given: Words): ServeArgs['log'] {
  const value = textOf(given, 'log') ?? 'text';
  if (value === 'text' || value === 'json') return value;
  throw new UsageError('--log takes text or json: --log json');
}
